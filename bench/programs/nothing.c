/* SPDX-License-Identifier: BSD-2-Clause */
/* The least program that there can be: built without what is usually run before main(). */
#include <unistd.h>

void _start(void)
{
	_exit(0);
}
