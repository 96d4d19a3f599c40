/* SPDX-License-Identifier: BSD-2-Clause */
/* What a piece of code writes to a descriptor, as text. */
#ifndef TESTS_CAPTURE_H
#define TESTS_CAPTURE_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct capture {
	int fd;	   /* that is captured */
	int saved; /* where it led */
	int file;
	char text[65536];
};

static inline void capture__begin(struct capture *capture, int fd)
{
	fflush(stdout);
	fflush(stderr);
	capture->fd = fd;
	capture->saved = dup(fd);
	capture->file = memfd_create("capture", MFD_CLOEXEC);
	assert_true(capture->saved >= 0 && capture->file >= 0);
	assert_int_equal(dup2(capture->file, fd), fd);
}

/* The text stays valid until the next capture in the same struct. */
static inline const char *capture__end(struct capture *capture)
{
	ssize_t length;

	fflush(stdout);
	fflush(stderr);
	length = pread(capture->file, capture->text, sizeof(capture->text) - 1, 0);
	dup2(capture->saved, capture->fd);
	close(capture->saved);
	close(capture->file);
	assert_true(length >= 0);
	capture->text[length] = '\0';
	return capture->text;
}

/* Runs code that may exit() in a child, with fd captured. Its exit status, or 128 + signal. */
static inline int capture__run(struct capture *capture, int fd, int (*code)(void *), void *context)
{
	int status;
	pid_t pid;

	capture__begin(capture, fd);
	pid = fork();
	if (!pid)
		exit(code(context));
	assert_true(pid > 0);
	while (waitpid(pid, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	capture__end(capture);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

#endif
