/* SPDX-License-Identifier: BSD-2-Clause */
/* ELF files, sound and broken; and machine code put into one by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include <errno.h>

#include "file_copy.h"
#include "user/discover/debug_file.h"
#include "user/discover/decode.h"
#include "user/discover/elf_file.h"

#define CODE_OFFSET  0x1000
#define DATA_ADDRESS 0x20000
#define CODE_ADDRESS 0x10000

/* A file of two segments: code, and writable data that is not in the file. */
struct made_file {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	unsigned char padding[CODE_OFFSET - sizeof(Elf64_Ehdr) - 2 * sizeof(Elf64_Phdr)];
	unsigned char code[256];
};

static void make_file(struct made_file *made, const void *code, size_t size)
{
	memset(made, 0, sizeof(*made));
	memcpy(made->header.e_ident, ELFMAG, SELFMAG);
	made->header.e_ident[EI_CLASS] = ELFCLASS64;
	made->header.e_ident[EI_DATA] = ELFDATA2LSB;
	made->header.e_type = ET_DYN;
	made->header.e_machine = EM_X86_64;
	made->header.e_phoff = offsetof(struct made_file, segments);
	made->header.e_phentsize = sizeof(Elf64_Phdr);
	made->header.e_phnum = 2;
	made->segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
					  .p_flags = PF_R | PF_X,
					  .p_offset = CODE_OFFSET,
					  .p_vaddr = CODE_ADDRESS,
					  .p_filesz = sizeof(made->code),
					  .p_memsz = sizeof(made->code) };
	made->segments[1] = (Elf64_Phdr){ .p_type = PT_LOAD,
					  .p_flags = PF_R | PF_W,
					  .p_vaddr = DATA_ADDRESS,
					  .p_memsz = 0x1000 };
	memset(made->code, 0xcc, sizeof(made->code));
	memcpy(made->code, code, size);
}

static int open_made(const struct made_file *made)
{
	struct file_copy copy = { .bytes = (unsigned char *)made, .size = sizeof(*made) };

	return file_copy__open(&copy, sizeof(*made));
}

static bool keep_last(const struct decode_event *event, void *context)
{
	struct decode_event *kept = context;

	*kept = *event;
	return event->kind != DECODE_RETURN;
}

static struct decode_event walk(const void *code, size_t size, int expected)
{
	struct decode_event last = { .kind = 0 };
	struct elf_file *file = NULL;
	struct made_file made;
	int fd;

	make_file(&made, code, size);
	fd = open_made(&made);
	assert_int_equal(elf_file__open(fd, &file), 0);
	assert_int_equal(decode__walk(file, CODE_ADDRESS, DECODE_MAX_CALLS, keep_last, &last),
			 expected);
	elf_file__close(file);
	close(fd);
	return last;
}

static void test_loads(void **state)
{
	/* mov 0xfff9(%rip),%rax; mov 0x450(%rax),%rax; movzbl 0x10(%rax),%eax; shr $5,%al; ret */
	static const unsigned char code[] = { 0x48, 0x8b, 0x05, 0xf9, 0xff, 0x00, 0x00, 0x48,
					      0x8b, 0x80, 0x50, 0x04, 0x00, 0x00, 0x0f, 0xb6,
					      0x40, 0x10, 0xc0, 0xe8, 0x05, 0xc3 };
	struct decode_event last = walk(code, sizeof(code), 0);

	(void)state;
	assert_int_equal(last.kind, DECODE_RETURN);
	assert_int_equal(last.value.root, DECODE_ADDRESS);
	assert_int_equal(last.value.base, DATA_ADDRESS);
	assert_int_equal(last.value.load_count, 3);
	assert_int_equal(last.value.loads[0], 0);
	assert_int_equal(last.value.loads[1], 0x450);
	assert_int_equal(last.value.loads[2], 0x10);
	assert_int_equal(last.value.last_size, 1);
	assert_int_equal(last.value.shift, 5);
}

static void test_thread_pointer(void **state)
{
	/* mov %fs:0,%rax; mov -8(%rax),%rax; mov 0x70(%rax),%rax; ret */
	static const unsigned char indirect[] = { 0x64, 0x48, 0x8b, 0x04, 0x25, 0x00,
						  0x00, 0x00, 0x00, 0x48, 0x8b, 0x40,
						  0xf8, 0x48, 0x8b, 0x40, 0x70, 0xc3 };
	/* mov %fs:-8,%rax; mov 0x70(%rax),%rax; ret */
	static const unsigned char direct[] = { 0x64, 0x48, 0x8b, 0x04, 0x25, 0xf8, 0xff,
						0xff, 0xff, 0x48, 0x8b, 0x40, 0x70, 0xc3 };
	struct decode_event last = walk(indirect, sizeof(indirect), 0);

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(last.value.root, DECODE_TP);
		assert_int_equal((int64_t)last.value.base, -8);
		assert_int_equal(last.value.load_count, 2);
		assert_int_equal(last.value.loads[0], 0);
		assert_int_equal(last.value.loads[1], 0x70);
		last = walk(direct, sizeof(direct), 0);
	}
}

static void test_what_is_not_understood_is_unknown(void **state)
{
	/* mov 0xfff9(%rip),%rax; imul $3,%rax,%rax; mov 8(%rax),%rax; ret */
	static const unsigned char arithmetic[] = {
		0x48, 0x8b, 0x05, 0xf9, 0xff, 0x00, 0x00, 0x48,
		0x6b, 0xc0, 0x03, 0x48, 0x8b, 0x40, 0x08, 0xc3
	};
	/* mov 0xfff9(%rip),%eax (half of a pointer); mov 8(%rax),%rax; ret */
	static const unsigned char half[] = { 0x8b, 0x05, 0xf9, 0xff, 0x00, 0x00,
					      0x48, 0x8b, 0x40, 0x08, 0xc3 };

	(void)state;
	assert_int_equal(walk(arithmetic, sizeof(arithmetic), 0).value.root, DECODE_UNKNOWN);
	assert_int_equal(walk(half, sizeof(half), 0).value.root, DECODE_UNKNOWN);
}

static void test_endless_code_ends(void **state)
{
	static const unsigned char itself[] = { 0xeb, 0xfe }; /* jmp . */
	/* call . ; push-less recursion of calls, then garbage */
	static const unsigned char recursion[] = { 0xe8, 0xfb, 0xff, 0xff, 0xff, 0xc3 };
	unsigned char branches[240];

	(void)state;
	assert_int_equal(walk(itself, sizeof(itself), 0).kind, 0);
	walk(recursion, sizeof(recursion), 0);
	/* Each jumps to the first. */
	for (size_t i = 0; i < sizeof(branches); i += 2) {
		branches[i] = 0x74;
		branches[i + 1] = (unsigned char)(0xfe - i);
	}
	walk(branches, sizeof(branches), 0);
	walk("\x06", 1, -EFAULT); /* no instruction in 64-bit mode */
}

static void test_code_outside_of_the_file(void **state)
{
	struct elf_file *file = NULL;
	struct decode_event last;
	struct made_file made;
	int fd;

	(void)state;
	make_file(&made, "\xc3", 1);
	fd = open_made(&made);
	assert_int_equal(elf_file__open(fd, &file), 0);
	assert_int_equal(decode__walk(file, 0, 0, keep_last, &last), -EFAULT);
	assert_int_equal(decode__walk(file, UINT64_MAX, 0, keep_last, &last), -EFAULT);
	assert_int_equal(decode__walk(file, DATA_ADDRESS, 0, keep_last, &last), -EFAULT);
	elf_file__close(file);
	close(fd);
}

static void test_reads_stay_inside(void **state)
{
	unsigned char bytes[300];
	struct elf_file *file = NULL;
	struct made_file made;
	int fd;

	(void)state;
	make_file(&made, "\xc3", 1);
	fd = open_made(&made);
	assert_int_equal(elf_file__open(fd, &file), 0);
	assert_int_equal(elf_file__read(file, CODE_ADDRESS, bytes, 256), 0);
	assert_int_equal(elf_file__read(file, CODE_ADDRESS, bytes, 257), -EFAULT);
	assert_int_equal(elf_file__read(file, CODE_ADDRESS + 255, bytes, 2), -EFAULT);
	assert_int_equal(elf_file__read(file, DATA_ADDRESS, bytes, 1), -EFAULT);
	assert_int_equal(elf_file__read(file, UINT64_MAX, bytes, 1), -EFAULT);
	assert_int_equal(elf_file__read_some(file, CODE_ADDRESS + 250, bytes, 300), 6);
	assert_int_equal(elf_file__read_offset(file, UINT64_MAX, bytes, 2), -EFAULT);
	assert_null(elf_file__segment_at(file, DATA_ADDRESS + 0x1000));
	elf_file__close(file);
	close(fd);
}

static void test_headers_that_are_refused(void **state)
{
	struct elf_file *file = NULL;
	struct made_file made;
	int fd;

	(void)state;
	for (int i = 0; i < 7; i++) {
		make_file(&made, "\xc3", 1);
		if (i == 0)
			made.header.e_phoff = UINT64_MAX - 8;
		if (i == 1)
			made.header.e_phnum = 0;
		if (i == 2)
			made.header.e_phnum = 0xffff;
		if (i == 3)
			made.header.e_phentsize = 1;
		if (i == 4)
			made.header.e_type = ET_CORE;
		if (i == 5)
			made.header.e_ident[EI_CLASS] = ELFCLASS32;
		if (i == 6)
			made.header.e_phoff = sizeof(made) - 60;
		fd = open_made(&made);
		assert_int_equal(elf_file__open(fd, &file), -ENOEXEC);
		assert_null(file);
		close(fd);
	}
}

/* Extreme values in every word of the program headers and of a dynamic section. */
static void test_absurd_tables(void **state)
{
	static const uint64_t extremes[] = { 0,		1,	   UINT64_MAX, UINT64_MAX - 7,
					     1UL << 63, 1UL << 40, 0xffffffff };
	static const Elf64_Sxword tags[] = { DT_SYMTAB,	  DT_STRTAB, DT_STRSZ,	DT_HASH,
					     DT_GNU_HASH, DT_RELA,   DT_RELASZ, DT_JMPREL,
					     DT_PLTRELSZ, DT_NEEDED };
	char hex[41];

	(void)state;
	for (size_t i = 0; i < 7; i++) {
		for (size_t word = 0; word < 2 * sizeof(Elf64_Phdr) / 8; word++) {
			Elf64_Dyn dynamic[sizeof(tags) / sizeof(tags[0])];
			struct elf_file *file = NULL;
			struct made_file made;
			Elf64_Sym symbol;
			uint64_t target;
			int fd;

			for (size_t j = 0; j < sizeof(tags) / sizeof(tags[0]); j++) {
				dynamic[j].d_tag = tags[j];
				dynamic[j].d_un.d_val = (word + j) % 3
								? CODE_ADDRESS + 8 * (word + j)
								: extremes[i];
			}
			make_file(&made, dynamic, sizeof(dynamic));
			made.segments[1] = made.segments[0];
			made.segments[1].p_type = PT_DYNAMIC;
			made.header.e_shoff = extremes[i];
			made.header.e_shentsize = sizeof(Elf64_Shdr);
			made.header.e_shnum = (uint16_t)word;
			memcpy((char *)made.segments + 8 * word, &extremes[i], 8);
			fd = open_made(&made);
			if (elf_file__open(fd, &file) == 0) {
				elf_file__dynamic_symbol(file, "ruby_version", &symbol);
				elf_file__load_relocations(file);
				elf_file__constant_pointer(file, CODE_ADDRESS, &target);
				elf_file__needs(file, "libc", 4);
				elf_file__has_constant(file, "yjit", 4);
				elf_file__build_id(file, hex);
				elf_file__has_symtab(file);
				elf_file__is_executable(file);
			}
			elf_file__close(file);
			close(fd);
		}
	}
}

static void test_installed_libruby(void **state)
{
	struct elf_file *file = NULL;
	Elf64_Sym symbol;
	char hex[41], again[41];
	int fd = open(INSTALLED_LIBRUBY, O_RDONLY | O_CLOEXEC);

	(void)state;
	if (fd < 0)
		skip();
	assert_int_equal(elf_file__open(fd, &file), 0);
	assert_false(elf_file__is_executable(file));
	assert_true(elf_file__needs(file, "libc.so.6", 10));
	assert_false(elf_file__needs(file, "libc.so", 8));
	assert_int_equal(elf_file__dynamic_symbol(file, "ruby_version", &symbol), 0);
	assert_int_equal(symbol.st_size, sizeof("3.1.2"));
	assert_int_equal(elf_file__dynamic_symbol(file, "ruby_versions", &symbol), -ENOENT);
	/* Named there, but defined elsewhere. */
	assert_int_equal(elf_file__dynamic_symbol(file, "malloc", &symbol), -ENOENT);
	assert_int_equal(elf_file__build_id(file, hex), 0);
	assert_int_equal(strlen(hex), 40);
	assert_int_equal(elf_file__content_id(file, hex), 0);
	assert_int_equal(elf_file__content_id(file, again), 0);
	assert_string_equal(hex, again);
	assert_int_equal(elf_file__load_relocations(file), 0);
	assert_true(file->relocation_count > 1000);
	elf_file__close(file);
	close(fd);
}

static void test_debug_file_names(void **state)
{
	struct elf_file *file = NULL;

	(void)state;
	assert_int_equal(debug_file__open("/nowhere", "0123456789abcdef", &file), -ENOENT);
	assert_int_equal(debug_file__open("/nowhere", "", &file), -ENOENT);
	assert_int_equal(debug_file__open("/", "../../../etc/passwd", &file), -ENOENT);
	assert_null(file);
	debug_file__close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loads),
		cmocka_unit_test(test_thread_pointer),
		cmocka_unit_test(test_what_is_not_understood_is_unknown),
		cmocka_unit_test(test_endless_code_ends),
		cmocka_unit_test(test_code_outside_of_the_file),
		cmocka_unit_test(test_reads_stay_inside),
		cmocka_unit_test(test_headers_that_are_refused),
		cmocka_unit_test(test_absurd_tables),
		cmocka_unit_test(test_installed_libruby),
		cmocka_unit_test(test_debug_file_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
