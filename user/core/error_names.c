/* SPDX-License-Identifier: BSD-2-Clause */
#include "error_names.h"

#include "../../include/rbprof_abi.h"

static const struct {
	const char *text, *label;
} names[RBPROF_E_COUNT] = {
	[RBPROF_OK] = { "none", "none" },
#define RBPROF_ERROR(code, text, label) [RBPROF_E_##code] = { text, label },
#include "../../include/errors.def"
#undef RBPROF_ERROR
};

const char *rbprof_error__text(int error)
{
	return error >= 0 && error < RBPROF_E_COUNT ? names[error].text : "unknown";
}

const char *rbprof_error__label(int error)
{
	return error >= 0 && error < RBPROF_E_COUNT ? names[error].label : "unknown";
}
