/* SPDX-License-Identifier: BSD-2-Clause */
#include "elf_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CHAIN    4096 /* symbols in one hash bucket: real ones have a handful */
#define MAX_SECTIONS 65536

bool elf_file__symbol_is_named(const struct elf_file *file, uint32_t index, const char *name)
{
	size_t length = strlen(name) + 1;
	char found[ELF_FILE_NAME_MAX];
	Elf64_Sym symbol;

	if (length > sizeof(found) || elf_file__symbol_at(file, index, &symbol))
		return false;
	return symbol.st_name < file->strsz && length <= file->strsz - symbol.st_name &&
	       elf_file__read(file, file->strtab + symbol.st_name, found, length) == 0 &&
	       memcmp(found, name, length) == 0;
}

int elf_file__symbol_at(const struct elf_file *file, uint32_t index, Elf64_Sym *ret_symbol)
{
	if (!file->symtab)
		return -ENOENT;
	return elf_file__read(file, file->symtab + (uint64_t)index * sizeof(*ret_symbol),
			      ret_symbol, sizeof(*ret_symbol));
}

/* The symbol at index, if it is defined here and has the name. */
static int take_symbol(const struct elf_file *file, uint32_t index, const char *name,
		       Elf64_Sym *ret_symbol)
{
	Elf64_Sym symbol;
	int error = elf_file__symbol_at(file, index, &symbol);

	if (error)
		return error;
	if (symbol.st_shndx == SHN_UNDEF || !elf_file__symbol_is_named(file, index, name))
		return -ENOENT;
	*ret_symbol = symbol;
	return 0;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static int lookup_gnu_hash(const struct elf_file *file, const char *name, Elf64_Sym *ret_symbol)
{
	struct {
		uint32_t buckets, first_symbol, bloom_words, bloom_shift;
	} table;
	uint32_t hash = gnu_hash(name), index, entry;
	uint64_t bloom, buckets, chains;
	int error = elf_file__read(file, file->gnu_hash, &table, sizeof(table));

	if (error)
		return error;
	if (!table.buckets || !table.bloom_words)
		return -ENOENT;
	error = elf_file__read(file,
			       file->gnu_hash + sizeof(table) +
				       (hash / 64 % table.bloom_words) * sizeof(bloom),
			       &bloom, sizeof(bloom));
	if (error)
		return error;
	if (!(bloom >> hash % 64 & bloom >> (hash >> table.bloom_shift % 32) % 64 & 1))
		return -ENOENT;
	buckets = file->gnu_hash + sizeof(table) + (uint64_t)table.bloom_words * sizeof(bloom);
	chains = buckets + (uint64_t)table.buckets * sizeof(uint32_t);
	error = elf_file__read(file, buckets + (uint64_t)(hash % table.buckets) * sizeof(index),
			       &index, sizeof(index));
	if (error)
		return error;
	if (index < table.first_symbol)
		return -ENOENT;
	for (size_t i = 0; i < MAX_CHAIN; i++, index++) {
		error = elf_file__read(
			file, chains + (uint64_t)(index - table.first_symbol) * sizeof(entry),
			&entry, sizeof(entry));
		if (error)
			return error;
		if ((entry | 1) == (hash | 1) && take_symbol(file, index, name, ret_symbol) == 0)
			return 0;
		if (entry & 1)
			break;
	}
	return -ENOENT;
}

static uint32_t sysv_hash(const char *name)
{
	uint32_t hash = 0;

	for (; *name; name++) {
		hash = (hash << 4) + (unsigned char)*name;
		hash ^= hash >> 24 & 0xf0;
	}
	return hash & 0x0fffffff;
}

static int lookup_sysv_hash(const struct elf_file *file, const char *name, Elf64_Sym *ret_symbol)
{
	struct {
		uint32_t buckets, chains;
	} table;
	uint64_t words = file->hash + sizeof(table);
	uint32_t index;
	int error = elf_file__read(file, file->hash, &table, sizeof(table));

	if (error)
		return error;
	if (!table.buckets)
		return -ENOENT;
	error = elf_file__read(file,
			       words + (uint64_t)(sysv_hash(name) % table.buckets) * sizeof(index),
			       &index, sizeof(index));
	for (size_t i = 0; !error && index && index < table.chains && i < MAX_CHAIN; i++) {
		if (take_symbol(file, index, name, ret_symbol) == 0)
			return 0;
		error = elf_file__read(file,
				       words + ((uint64_t)table.buckets + index) * sizeof(index),
				       &index, sizeof(index));
	}
	return error ? error : -ENOENT;
}

int elf_file__dynamic_symbol(const struct elf_file *file, const char *name, Elf64_Sym *ret_symbol)
{
	if (!file->symtab || !file->strtab)
		return -ENOENT;
	if (file->gnu_hash)
		return lookup_gnu_hash(file, name, ret_symbol);
	if (file->hash)
		return lookup_sysv_hash(file, name, ret_symbol);
	return -ENOENT;
}

static int read_section(const struct elf_file *file, size_t index, Elf64_Shdr *ret_section)
{
	return elf_file__read_offset(file, file->header.e_shoff + index * sizeof(*ret_section),
				     ret_section, sizeof(*ret_section));
}

/* .symtab's section header and that of its strings. */
static int find_symtab(const struct elf_file *file, Elf64_Shdr *ret_symbols,
		       Elf64_Shdr *ret_strings)
{
	size_t count = file->header.e_shnum;
	Elf64_Shdr section, strings;

	if (!file->header.e_shoff || file->header.e_shentsize != sizeof(section) ||
	    file->header.e_shoff > file->size)
		return -ENOENT;
	/* More sections than fit into the header: the first section's size is their number. */
	if (!count && read_section(file, 0, &section) == 0)
		count = section.sh_size;
	if (count > MAX_SECTIONS)
		return -ENOENT;
	for (size_t i = 0; i < count; i++) {
		if (read_section(file, i, &section))
			break;
		if (section.sh_type != SHT_SYMTAB || section.sh_entsize != sizeof(Elf64_Sym))
			continue;
		if (section.sh_link >= count || read_section(file, section.sh_link, &strings))
			break;
		*ret_symbols = section;
		*ret_strings = strings;
		return 0;
	}
	return -ENOENT;
}

bool elf_file__has_symtab(const struct elf_file *file)
{
	Elf64_Shdr symbols, strings;

	return find_symtab(file, &symbols, &strings) == 0;
}

/* A part of the file as a new block of memory; a NUL is put behind it. */
static int load_part(const struct elf_file *file, uint64_t offset, uint64_t size, char **ret_part)
{
	char *part;
	int error;

	if (size > ELF_FILE_TABLE_MAX || offset > file->size || size > file->size - offset)
		return -ENOENT;
	part = malloc(size + 1);
	if (!part)
		return -ENOMEM;
	error = elf_file__read_offset(file, offset, part, size);
	if (error) {
		free(part);
		return error;
	}
	part[size] = '\0';
	*ret_part = part;
	return 0;
}

static void match_symbol(const Elf64_Sym *symbol, const char *name, struct elf_wanted *wanted,
			 size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (wanted[i].found || *wanted[i].name != *name ||
		    strcmp(wanted[i].name, name) != 0)
			continue;
		wanted[i].found = true;
		wanted[i].symbol = *symbol;
	}
}

int elf_file__static_symbols(const struct elf_file *file, struct elf_wanted *wanted, size_t count)
{
	Elf64_Shdr symbols, strings;
	char *table = NULL, *names = NULL;
	int error = find_symtab(file, &symbols, &strings);

	if (error)
		return error;
	error = load_part(file, symbols.sh_offset, symbols.sh_size, &table);
	if (!error)
		error = load_part(file, strings.sh_offset, strings.sh_size, &names);
	if (error)
		goto out;
	for (uint64_t i = 0; i < symbols.sh_size / sizeof(Elf64_Sym); i++) {
		Elf64_Sym symbol;

		memcpy(&symbol, table + i * sizeof(symbol), sizeof(symbol));
		if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= strings.sh_size ||
		    ELF64_ST_TYPE(symbol.st_info) == STT_FILE ||
		    ELF64_ST_TYPE(symbol.st_info) == STT_SECTION)
			continue;
		match_symbol(&symbol, names + symbol.st_name, wanted, count);
	}
out:
	free(names);
	free(table);
	return error;
}

/* Bytes of a relocation table that the file really has, or 0. */
static size_t table_bytes(const struct elf_file *file, uint64_t address, uint64_t size)
{
	const Elf64_Phdr *segment = elf_file__segment_at(file, address);

	if (!address || !segment || address - segment->p_vaddr >= segment->p_filesz)
		return 0;
	if (size > segment->p_filesz - (address - segment->p_vaddr))
		size = segment->p_filesz - (address - segment->p_vaddr);
	if (size > file->size)
		size = file->size;
	if (size > ELF_FILE_TABLE_MAX / 2)
		size = ELF_FILE_TABLE_MAX / 2;
	return size / sizeof(Elf64_Rela) * sizeof(Elf64_Rela);
}

int elf_file__load_relocations(struct elf_file *file)
{
	size_t main_bytes = table_bytes(file, file->rela, file->relasz);
	size_t plt_bytes = table_bytes(file, file->jmprel, file->pltrelsz);
	Elf64_Rela *relocations;
	int error = 0;

	if (file->relocations || main_bytes + plt_bytes == 0)
		return 0;
	relocations = malloc(main_bytes + plt_bytes);
	if (!relocations)
		return -ENOMEM;
	if (main_bytes)
		error = elf_file__read(file, file->rela, relocations, main_bytes);
	if (!error && plt_bytes)
		error = elf_file__read(file, file->jmprel, (char *)relocations + main_bytes,
				       plt_bytes);
	if (error) {
		free(relocations);
		return error;
	}
	file->relocations = relocations;
	file->relocation_count = (main_bytes + plt_bytes) / sizeof(*relocations);
	return 0;
}

const Elf64_Rela *elf_file__relocation_at(const struct elf_file *file, uint64_t address)
{
	for (size_t i = 0; i < file->relocation_count; i++)
		if (file->relocations[i].r_offset == address)
			return &file->relocations[i];
	return NULL;
}

static int relocated_pointer(const struct elf_file *file, const Elf64_Rela *relocation,
			     uint64_t *ret_target)
{
	Elf64_Sym symbol;

	switch (ELF64_R_TYPE(relocation->r_info)) {
	case R_X86_64_RELATIVE:
		*ret_target = (uint64_t)relocation->r_addend;
		return 0;
	case R_X86_64_GLOB_DAT:
	case R_X86_64_JUMP_SLOT:
	case R_X86_64_64:
		if (elf_file__symbol_at(file, (uint32_t)ELF64_R_SYM(relocation->r_info), &symbol) ||
		    symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) == STT_TLS)
			return -ENOENT;
		*ret_target = symbol.st_value;
		if (ELF64_R_TYPE(relocation->r_info) == R_X86_64_64)
			*ret_target += (uint64_t)relocation->r_addend;
		return 0;
	default:
		return -ENOENT;
	}
}

int elf_file__constant_pointer(const struct elf_file *file, uint64_t address, uint64_t *ret_target)
{
	const Elf64_Rela *relocation = elf_file__relocation_at(file, address);
	const Elf64_Phdr *relro = elf_file__segment(file, PT_GNU_RELRO);
	const Elf64_Phdr *segment = elf_file__segment_at(file, address);
	uint64_t value;

	if (relocation)
		return relocated_pointer(file, relocation, ret_target);
	/* Without one of its own: a static file's GOT, or packed relative relocations (RELR). */
	if (!segment)
		return -ENOENT;
	if (segment->p_flags & PF_W &&
	    (!relro || address < relro->p_vaddr || address - relro->p_vaddr >= relro->p_memsz))
		return -ENOENT;
	if (elf_file__read(file, address, &value, sizeof(value)) || !value ||
	    !elf_file__segment_at(file, value))
		return -ENOENT;
	*ret_target = value;
	return 0;
}
