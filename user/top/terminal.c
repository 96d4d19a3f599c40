/* SPDX-License-Identifier: BSD-2-Clause */
#include "terminal.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include "terminfo.h"

#define MAX_MESSAGES (64 << 10) /* bytes that are kept */
#define MAX_MESSAGE  256
#define ESCAPE_MS    25 /* in which what belongs to a key follows its escape character */

struct terminal {
	FILE *input; /* stdin, or /dev/tty */
	SCREEN *screen;
	int messages_fd, stderr_fd; /* what stands in for stderr, and what it was; -1: it is left */
	off_t message_size;
	char message[MAX_MESSAGE];
};

/* For a crash: all that its handler needs. */
static struct {
	volatile sig_atomic_t is_on;
	int fd;
	struct termios modes;
	char leave[256]; /* what takes our screen off the terminal */
	size_t leave_length;
} crash;

static const int fatal_signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS };
#define FATAL_SIGNALS (sizeof(fatal_signals) / sizeof(fatal_signals[0]))

/* ---- whatever happens ---- */

/* Only what may be called in a signal handler. */
static void put_back(void)
{
	if (!crash.is_on)
		return;
	crash.is_on = 0;
	if (write(crash.fd, crash.leave, crash.leave_length) < 0)
		(void)0; /* there is nobody left to tell */
	tcsetattr(crash.fd, TCSANOW, &crash.modes);
}

/* The handler has been taken out already: the signal comes again and ends us as it would have. */
static void on_fatal(int number)
{
	put_back();
	raise(number);
}

/* Delays in a capability ("$<5>") are for terminals that no longer exist. */
static void add_capability(const char *name)
{
	const char *text = tigetstr((char *)(uintptr_t)name);

	if (!text || text == (const char *)-1)
		return;
	for (; *text && crash.leave_length < sizeof(crash.leave); text++) {
		if (!strncmp(text, "$<", 2) && strchr(text, '>'))
			text = strchr(text, '>');
		else
			crash.leave[crash.leave_length++] = *text;
	}
}

static void catch_fatal(bool is_on)
{
	static char stack[16384];
	const stack_t alternative = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = {
		.sa_handler = is_on ? on_fatal : SIG_DFL,
		.sa_flags = is_on ? SA_RESETHAND | SA_NODEFER | SA_ONSTACK : 0,
	};
	size_t i;

	if (is_on)
		sigaltstack(&alternative, NULL);
	for (i = 0; i < FATAL_SIGNALS; i++)
		sigaction(fatal_signals[i], &action, NULL);
}

static void prepare_for_crash(void)
{
	static bool is_registered;

	crash.leave_length = 0;
	add_capability("sgr0");
	add_capability("op");
	add_capability("rmkx");
	add_capability("rmcup");
	add_capability("cnorm");
	crash.is_on = 1;
	catch_fatal(true);
	/* Somebody may call exit(). */
	if (!is_registered)
		atexit(put_back);
	is_registered = true;
}

/* ---- stderr ---- */

/* Where stderr is another file or a pipe it may go on. */
static void divert_stderr(struct terminal *terminal)
{
	if (!isatty(STDERR_FILENO))
		return;
	terminal->messages_fd = memfd_create("messages", MFD_CLOEXEC);
	terminal->stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	fflush(stderr);
	if (terminal->messages_fd < 0 || terminal->stderr_fd < 0 ||
	    fcntl(terminal->messages_fd, F_SETFL, O_APPEND | O_RDWR) ||
	    dup2(terminal->messages_fd, STDERR_FILENO) < 0) {
		if (terminal->messages_fd >= 0)
			close(terminal->messages_fd);
		terminal->messages_fd = -1;
	}
}

static void say_messages(struct terminal *terminal)
{
	char text[4096];
	off_t at = 0;
	ssize_t length;

	fflush(stderr);
	if (terminal->messages_fd >= 0) {
		dup2(terminal->stderr_fd, STDERR_FILENO);
		while ((length = pread(terminal->messages_fd, text, sizeof(text), at)) > 0) {
			if (write(STDERR_FILENO, text, (size_t)length) != length)
				break;
			at += length;
		}
		close(terminal->messages_fd);
	}
	if (terminal->stderr_fd >= 0)
		close(terminal->stderr_fd);
}

/* Cuts off the last line and its newline; what is left may have the one before at its end. */
static void keep_last_line(char *text)
{
	char *end = text + strlen(text), *start;

	while (end > text && end[-1] == '\n')
		*--end = '\0';
	start = strrchr(text, '\n');
	if (start)
		memmove(text, start + 1, strlen(start + 1) + 1);
}

const char *terminal__message(struct terminal *terminal)
{
	struct stat file;
	ssize_t length;

	if (terminal->messages_fd < 0 || fstat(terminal->messages_fd, &file) ||
	    file.st_size == terminal->message_size)
		return terminal->message;
	terminal->message_size = file.st_size;
	length = pread(terminal->messages_fd, terminal->message, sizeof(terminal->message) - 1,
		       file.st_size < MAX_MESSAGE - 1 ? 0 : file.st_size - (MAX_MESSAGE - 1));
	terminal->message[length > 0 ? length : 0] = '\0';
	keep_last_line(terminal->message);
	/* Days of them: the oldest say the least. */
	if (file.st_size > MAX_MESSAGES && !ftruncate(terminal->messages_fd, 0))
		terminal->message_size = 0;
	return terminal->message;
}

void terminal__clear_message(struct terminal *terminal)
{
	terminal->message[0] = '\0';
}

/* ---- the screen ---- */

bool terminal__is_usable(void)
{
	const char *term = getenv("TERM");
	int fd;

	if (!isatty(STDOUT_FILENO) || !term || !*term || !strcmp(term, "dumb"))
		return false;
	if (isatty(STDIN_FILENO))
		return true;
	fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Names are UTF-8; where no locale is set, so are the terminals of today. */
static void choose_locale(void)
{
	if (!setlocale(LC_CTYPE, "") || MB_CUR_MAX == 1)
		setlocale(LC_CTYPE, "C.UTF-8");
}

static int open_screen(struct terminal *terminal)
{
	int known;

	if (setupterm(NULL, STDOUT_FILENO, &known) && terminfo__use_built_in() &&
	    setupterm(NULL, STDOUT_FILENO, &known))
		return -ENOENT;
	terminal->screen = newterm(NULL, stdout, terminal->input);
	if (!terminal->screen)
		return -ENOENT;
	set_term(terminal->screen);
	return 0;
}

static void prepare_screen(struct terminal *terminal, bool wants_color)
{
	cbreak();
	noecho();
	nonl();
	curs_set(0);
	set_escdelay(ESCAPE_MS);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	intrflush(stdscr, FALSE);
	if (wants_color && has_colors()) {
		start_color();
		use_default_colors();
	}
	terminal__resize(terminal);
}

int terminal__open(bool wants_color, struct terminal **ret_terminal)
{
	struct terminal *terminal = calloc(1, sizeof(*terminal));
	int error = 0;

	if (!terminal)
		return -ENOMEM;
	terminal->messages_fd = terminal->stderr_fd = -1;
	choose_locale();
	fflush(stdout);
	terminal->input = isatty(STDIN_FILENO) ? stdin : fopen("/dev/tty", "re");
	crash.fd = STDOUT_FILENO;
	if (!terminal->input || tcgetattr(STDOUT_FILENO, &crash.modes))
		error = -errno;
	if (!error)
		error = open_screen(terminal);
	if (error) {
		terminal__close(terminal);
		return error;
	}
	prepare_for_crash();
	divert_stderr(terminal);
	prepare_screen(terminal, wants_color);
	*ret_terminal = terminal;
	return 0;
}

void terminal__close(struct terminal *terminal)
{
	if (!terminal)
		return;
	if (terminal->screen) {
		endwin();
		delscreen(terminal->screen);
		catch_fatal(false);
		/* Curses put back the modes that it had found; these are the same, for sure. */
		if (crash.is_on)
			tcsetattr(crash.fd, TCSADRAIN, &crash.modes);
		crash.is_on = 0;
	}
	if (terminal->input && terminal->input != stdin)
		fclose(terminal->input);
	say_messages(terminal);
	free(terminal);
}

int terminal__fd(const struct terminal *terminal)
{
	return fileno(terminal->input);
}

bool terminal__is_gone(const struct terminal *terminal)
{
	struct pollfd input = { .fd = terminal__fd(terminal), .events = POLLIN };

	return poll(&input, 1, 0) > 0 && input.revents & (POLLHUP | POLLERR | POLLNVAL);
}

bool terminal__is_ready(const struct terminal *terminal)
{
	struct pollfd output = { .fd = STDOUT_FILENO, .events = POLLOUT };

	(void)terminal;
	return poll(&output, 1, 0) > 0 && output.revents & POLLOUT;
}

void terminal__resize(struct terminal *terminal)
{
	struct winsize size;

	(void)terminal;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row && size.ws_col)
		resizeterm(size.ws_row, size.ws_col);
}

void terminal__restore(struct terminal *terminal)
{
	reset_prog_mode();
	terminal__resize(terminal);
	clearok(curscr, TRUE);
}

void terminal__suspend(struct terminal *terminal)
{
	sigset_t stop, before;

	endwin();
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	signal(SIGTSTP, SIG_DFL);
	raise(SIGTSTP);
	/* Stops us here. */
	sigprocmask(SIG_UNBLOCK, &stop, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	terminal__restore(terminal);
}
