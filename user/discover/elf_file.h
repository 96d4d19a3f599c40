/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A 64-bit little-endian ELF file as the loader sees it: program headers and the dynamic section.
 * Section headers are used for nothing but .symtab, because they may be absent, and they may lie.
 * The file may be hostile: every offset and count is checked against the file, every loop is
 * bounded, and no more memory is taken than ELF_FILE_TABLE_MAX for a table. Reads are copies
 * (pread), so a file that shrinks meanwhile gives an error, not a SIGBUS.
 */
#ifndef RBPROF_ELF_FILE_H
#define RBPROF_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ELF_FILE_MAX_SEGMENTS 256
#define ELF_FILE_TABLE_MAX    (64UL << 20) /* bytes of one table kept in memory */
#define ELF_FILE_NAME_MAX     128	   /* longest symbol name that is looked for */

struct elf_file {
	int fd;
	uint64_t size;
	Elf64_Ehdr header;
	Elf64_Phdr segments[ELF_FILE_MAX_SEGMENTS];
	size_t segment_count;

	/* From the dynamic section, virtual addresses; 0 where it has no such entry. */
	uint64_t symtab, strtab, strsz, hash, gnu_hash;
	uint64_t rela, relasz, jmprel, pltrelsz;

	/* All of rela and jmprel, once elf_file__load_relocations() has run. */
	Elf64_Rela *relocations;
	size_t relocation_count;
};

enum elf_file_class {
	ELF_FILE_NONE = 0, /* not ELF at all, or shorter than its header */
	ELF_FILE_FOREIGN,  /* ELF, but 32 bits wide or big-endian */
	ELF_FILE_64,
};

/* What the file's first bytes say. -errno only if it cannot be read. */
int elf_file__class(int fd, enum elf_file_class *ret_class);

/*
 * Reads the headers. The fd stays the caller's, and must outlive the file. 0, -ENOEXEC (not a
 * 64-bit little-endian ELF file with program headers), -ENOMEM or another -errno of the read.
 */
int elf_file__open(int fd, struct elf_file **ret_file);
void elf_file__close(struct elf_file *file);

/* Whether it is an executable (position-independent or not), rather than a shared library. */
bool elf_file__is_executable(const struct elf_file *file);

/* The first segment of a type, or NULL. */
const Elf64_Phdr *elf_file__segment(const struct elf_file *file, uint32_t type);

/* The load segment that an address belongs to (in memory, not only in the file), or NULL. */
const Elf64_Phdr *elf_file__segment_at(const struct elf_file *file, uint64_t address);

/* Reads exactly size bytes of the file. 0, -EFAULT (past its end), or -errno. */
int elf_file__read_offset(const struct elf_file *file, uint64_t offset, void *into, size_t size);

/* The same at a virtual address. -EFAULT also where the file has no bytes for it (.bss). */
int elf_file__read(const struct elf_file *file, uint64_t address, void *into, size_t size);

/*
 * Reads at most size bytes from address on, fewer where the segment ends in the file.
 * The number of bytes, or -errno.
 */
ssize_t elf_file__read_some(const struct elf_file *file, uint64_t address, void *into, size_t size);

/*
 * True if the dynamic section asks for a library whose name starts with these bytes; with its
 * NUL among them: whose name is this.
 */
bool elf_file__needs(const struct elf_file *file, const char *prefix, size_t length);

/* GNU build-id as hex, or -ENOENT. ret_hex has room for 41 characters. */
int elf_file__build_id(const struct elf_file *file, char *ret_hex);

/* A hash of the content (at most its first 64 MB) and size as 32 hex digits. 0 or -errno. */
int elf_file__content_id(const struct elf_file *file, char *ret_hex);

/*
 * Whether the bytes occur in the file's read-only, not executable segments. False also on
 * errors. length is at most ELF_FILE_NAME_MAX.
 */
bool elf_file__has_constant(const struct elf_file *file, const char *bytes, size_t length);

/* ---- symbols: elf_symbols.c ---- */

/* A defined symbol of the dynamic symbol table. 0, -ENOENT, or -errno. */
int elf_file__dynamic_symbol(const struct elf_file *file, const char *name, Elf64_Sym *ret_symbol);

/* Whether a dynamic symbol, defined or not, by its index, has this name. */
bool elf_file__symbol_is_named(const struct elf_file *file, uint32_t index, const char *name);

/* A dynamic symbol by its index. 0 or -errno. */
int elf_file__symbol_at(const struct elf_file *file, uint32_t index, Elf64_Sym *ret_symbol);

struct elf_wanted {
	const char *name;
	bool found;
	Elf64_Sym symbol;
};

/*
 * Looks the defined symbols up in .symtab, in one pass; entries already found stay. 0, -ENOENT
 * if the file has no usable .symtab, or -errno.
 */
int elf_file__static_symbols(const struct elf_file *file, struct elf_wanted *wanted, size_t count);

/* Whether the section headers show a .symtab. */
bool elf_file__has_symtab(const struct elf_file *file);

/* Reads the dynamic relocations. 0 (also if there are none) or -errno. */
int elf_file__load_relocations(struct elf_file *file);

/* The relocation of the word at an address, or NULL. */
const Elf64_Rela *elf_file__relocation_at(const struct elf_file *file, uint64_t address);

/*
 * The address that the loader will have put into the word at address, if it is one that never
 * changes (GOT, relocated read-only data): virtual, as in this file. 0, or -ENOENT.
 */
int elf_file__constant_pointer(const struct elf_file *file, uint64_t address, uint64_t *ret_target);

#endif
