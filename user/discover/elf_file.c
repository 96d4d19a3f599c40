/* SPDX-License-Identifier: BSD-2-Clause */
#include "elf_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_DYNAMIC    4096 /* entries */
#define MAX_NEEDED     256
#define MAX_NOTE_BYTES (64UL << 10)
#define CHUNK_BYTES    (64UL << 10)
#define BUILD_ID_BYTES 20

static int read_fully(int fd, uint64_t offset, void *into, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t count = pread(fd, (char *)into + done, size - done, (off_t)(offset + done));

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return -errno;
		if (count == 0)
			return -EFAULT;
		done += (size_t)count;
	}
	return 0;
}

int elf_file__class(int fd, enum elf_file_class *ret_class)
{
	enum elf_file_class class = ELF_FILE_NONE;
	unsigned char ident[EI_NIDENT];
	int error = read_fully(fd, 0, ident, sizeof(ident));

	if (error && error != -EFAULT)
		return error;
	if (!error && memcmp(ident, ELFMAG, SELFMAG) == 0) {
		if (ident[EI_CLASS] == ELFCLASS64 && ident[EI_DATA] == ELFDATA2LSB)
			class = ELF_FILE_64;
		else
			class = ELF_FILE_FOREIGN;
	}
	*ret_class = class;
	return 0;
}

int elf_file__read_offset(const struct elf_file *file, uint64_t offset, void *into, size_t size)
{
	if (offset > file->size || size > file->size - offset)
		return -EFAULT;
	return read_fully(file->fd, offset, into, size);
}

const Elf64_Phdr *elf_file__segment(const struct elf_file *file, uint32_t type)
{
	for (size_t i = 0; i < file->segment_count; i++)
		if (file->segments[i].p_type == type)
			return &file->segments[i];
	return NULL;
}

const Elf64_Phdr *elf_file__segment_at(const struct elf_file *file, uint64_t address)
{
	for (size_t i = 0; i < file->segment_count; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
		    address - segment->p_vaddr < segment->p_memsz)
			return segment;
	}
	return NULL;
}

/* Bytes that the file has from an address on, and where they are. */
static uint64_t file_bytes_at(const struct elf_file *file, uint64_t address, uint64_t *ret_offset)
{
	const Elf64_Phdr *segment = elf_file__segment_at(file, address);
	uint64_t into, left;

	if (!segment)
		return 0;
	into = address - segment->p_vaddr;
	if (into >= segment->p_filesz || segment->p_offset > file->size ||
	    into >= file->size - segment->p_offset)
		return 0;
	left = file->size - segment->p_offset - into;
	if (left > segment->p_filesz - into)
		left = segment->p_filesz - into;
	*ret_offset = segment->p_offset + into;
	return left;
}

int elf_file__read(const struct elf_file *file, uint64_t address, void *into, size_t size)
{
	uint64_t offset = 0;

	if (file_bytes_at(file, address, &offset) < size)
		return -EFAULT;
	return elf_file__read_offset(file, offset, into, size);
}

ssize_t elf_file__read_some(const struct elf_file *file, uint64_t address, void *into, size_t size)
{
	uint64_t offset = 0, left = file_bytes_at(file, address, &offset);
	int error;

	if (!left)
		return -EFAULT;
	if (size > left)
		size = left;
	error = elf_file__read_offset(file, offset, into, size);
	return error ? error : (ssize_t)size;
}

bool elf_file__is_executable(const struct elf_file *file)
{
	const Elf64_Phdr *dynamic = elf_file__segment(file, PT_DYNAMIC);

	if (file->header.e_type == ET_EXEC)
		return true;
	/* A libruby has no interpreter: only libc and the loader are libraries that run. */
	if (elf_file__segment(file, PT_INTERP))
		return true;
	for (size_t i = 0; dynamic && i < MAX_DYNAMIC; i++) {
		Elf64_Dyn entry;

		if (elf_file__read(file, dynamic->p_vaddr + i * sizeof(entry), &entry,
				   sizeof(entry)) ||
		    entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_FLAGS_1)
			return entry.d_un.d_val & DF_1_PIE;
	}
	return false;
}

static void take_dynamic_entry(struct elf_file *file, const Elf64_Dyn *entry)
{
	static const struct {
		Elf64_Sxword tag;
		size_t member;
	} members[] = {
		{ DT_SYMTAB, offsetof(struct elf_file, symtab) },
		{ DT_STRTAB, offsetof(struct elf_file, strtab) },
		{ DT_STRSZ, offsetof(struct elf_file, strsz) },
		{ DT_HASH, offsetof(struct elf_file, hash) },
		{ DT_GNU_HASH, offsetof(struct elf_file, gnu_hash) },
		{ DT_RELA, offsetof(struct elf_file, rela) },
		{ DT_RELASZ, offsetof(struct elf_file, relasz) },
		{ DT_JMPREL, offsetof(struct elf_file, jmprel) },
		{ DT_PLTRELSZ, offsetof(struct elf_file, pltrelsz) },
	};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (members[i].tag == entry->d_tag)
			memcpy((char *)file + members[i].member, &entry->d_un.d_val,
			       sizeof(uint64_t));
}

/* The dynamic section, in one read; the loader takes it from the segment as well. */
static int read_dynamic(const struct elf_file *file, Elf64_Dyn **ret_entries, size_t *ret_count)
{
	const Elf64_Phdr *segment = elf_file__segment(file, PT_DYNAMIC);
	size_t count = segment ? segment->p_filesz / sizeof(Elf64_Dyn) : 0;
	Elf64_Dyn *entries;
	ssize_t size;

	if (!count)
		return -ENOENT;
	if (count > MAX_DYNAMIC)
		count = MAX_DYNAMIC;
	entries = calloc(count, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	size = elf_file__read_some(file, segment->p_vaddr, entries, count * sizeof(*entries));
	if (size < 0) {
		free(entries);
		return (int)size;
	}
	*ret_entries = entries;
	*ret_count = (size_t)size / sizeof(*entries);
	return 0;
}

static void load_dynamic(struct elf_file *file)
{
	Elf64_Dyn *entries = NULL;
	size_t count = 0;

	/* A static executable has none; a broken one is as good as none. */
	if (read_dynamic(file, &entries, &count))
		return;
	for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++)
		take_dynamic_entry(file, &entries[i]);
	free(entries);
}

int elf_file__open(int fd, struct elf_file **ret_file)
{
	struct elf_file *file = calloc(1, sizeof(*file));
	struct stat status;
	int error = -ENOEXEC;
	size_t count;

	if (!file)
		return -ENOMEM;
	file->fd = fd;
	if (fstat(fd, &status)) {
		error = -errno;
		goto out;
	}
	if (!S_ISREG(status.st_mode) || status.st_size < (off_t)sizeof(file->header))
		goto out;
	file->size = (uint64_t)status.st_size;
	error = elf_file__read_offset(file, 0, &file->header, sizeof(file->header));
	if (error)
		goto out;
	error = -ENOEXEC;
	if (memcmp(file->header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    file->header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    file->header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    (file->header.e_type != ET_EXEC && file->header.e_type != ET_DYN) ||
	    file->header.e_phentsize != sizeof(Elf64_Phdr) || !file->header.e_phnum)
		goto out;
	count = file->header.e_phnum;
	if (count > ELF_FILE_MAX_SEGMENTS)
		goto out;
	error = elf_file__read_offset(file, file->header.e_phoff, file->segments,
				      count * sizeof(Elf64_Phdr));
	if (error) {
		error = error == -EFAULT ? -ENOEXEC : error;
		goto out;
	}
	file->segment_count = count;
	load_dynamic(file);
	*ret_file = file;
	file = NULL;
out:
	elf_file__close(file);
	return error;
}

void elf_file__close(struct elf_file *file)
{
	if (!file)
		return;
	free(file->relocations);
	free(file);
}

bool elf_file__needs(const struct elf_file *file, const char *prefix, size_t length)
{
	Elf64_Dyn *entries = NULL;
	size_t count = 0, seen = 0;
	bool found = false;

	if (length > ELF_FILE_NAME_MAX || read_dynamic(file, &entries, &count))
		return false;
	for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL && !found; i++) {
		char name[ELF_FILE_NAME_MAX];

		if (entries[i].d_tag != DT_NEEDED)
			continue;
		if (++seen > MAX_NEEDED)
			break;
		found = entries[i].d_un.d_val < file->strsz &&
			elf_file__read(file, file->strtab + entries[i].d_un.d_val, name, length) ==
				0 &&
			memcmp(name, prefix, length) == 0;
	}
	free(entries);
	return found;
}

static size_t padded(size_t size)
{
	return (size + 3) & ~(size_t)3;
}

static int find_build_id(const unsigned char *notes, size_t size, char *ret_hex)
{
	while (size >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		size_t name, content;

		memcpy(&note, notes, sizeof(note));
		name = sizeof(note);
		if (note.n_namesz > size - name || padded(note.n_namesz) > size - name)
			break;
		content = name + padded(note.n_namesz);
		if (note.n_descsz > size - content)
			break;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
		    memcmp(notes + name, "GNU", sizeof("GNU")) == 0 && note.n_descsz) {
			size_t length = note.n_descsz;

			if (length > BUILD_ID_BYTES)
				length = BUILD_ID_BYTES;
			for (size_t i = 0; i < length; i++)
				snprintf(ret_hex + 2 * i, 3, "%02x", notes[content + i]);
			return 0;
		}
		if (padded(note.n_descsz) > size - content)
			break;
		notes += content + padded(note.n_descsz);
		size -= content + padded(note.n_descsz);
	}
	return -ENOENT;
}

/* Debug files keep the section and its header, but their segments point nowhere. */
static int build_id_by_section(const struct elf_file *file, unsigned char *notes, char *ret_hex)
{
	Elf64_Shdr section;

	if (file->header.e_shentsize != sizeof(section))
		return -ENOENT;
	for (size_t i = 0; i < file->header.e_shnum; i++) {
		if (elf_file__read_offset(file, file->header.e_shoff + i * sizeof(section),
					  &section, sizeof(section)))
			break;
		if (section.sh_type == SHT_NOTE && section.sh_size <= MAX_NOTE_BYTES &&
		    elf_file__read_offset(file, section.sh_offset, notes, section.sh_size) == 0 &&
		    find_build_id(notes, section.sh_size, ret_hex) == 0)
			return 0;
	}
	return -ENOENT;
}

int elf_file__build_id(const struct elf_file *file, char *ret_hex)
{
	unsigned char *notes = malloc(MAX_NOTE_BYTES);
	int error = -ENOENT;

	if (!notes)
		return -ENOMEM;
	for (size_t i = 0; error && i < file->segment_count; i++) {
		const Elf64_Phdr *segment = &file->segments[i];
		size_t size = segment->p_filesz;

		if (segment->p_type != PT_NOTE)
			continue;
		if (size > MAX_NOTE_BYTES)
			size = MAX_NOTE_BYTES;
		if (elf_file__read_offset(file, segment->p_offset, notes, size) == 0)
			error = find_build_id(notes, size, ret_hex);
	}
	if (error)
		error = build_id_by_section(file, notes, ret_hex);
	free(notes);
	return error;
}

/* Two multiply-and-rotate lanes: for telling builds apart, not against forgery. */
static void mix(uint64_t lanes[2], const unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
		uint64_t word = 0;

		memcpy(&word, bytes + i, size - i < sizeof(word) ? size - i : sizeof(word));
		lanes[0] = (lanes[0] ^ word) * 0x9e3779b97f4a7c15ULL;
		lanes[0] ^= lanes[0] >> 29;
		lanes[1] = (lanes[1] + word) * 0xc2b2ae3d27d4eb4fULL;
		lanes[1] = lanes[1] << 31 | lanes[1] >> 33;
	}
}

int elf_file__content_id(const struct elf_file *file, char *ret_hex)
{
	uint64_t lanes[2] = { file->size, ~file->size };
	unsigned char *chunk = malloc(CHUNK_BYTES);
	int error = 0;

	if (!chunk)
		return -ENOMEM;
	for (uint64_t offset = 0; offset < file->size && offset < ELF_FILE_TABLE_MAX;) {
		size_t size = CHUNK_BYTES;

		if (size > file->size - offset)
			size = file->size - offset;
		error = elf_file__read_offset(file, offset, chunk, size);
		if (error)
			goto out;
		mix(lanes, chunk, size);
		offset += size;
	}
	snprintf(ret_hex, 33, "%016llx%016llx", (unsigned long long)lanes[0],
		 (unsigned long long)lanes[1]);
out:
	free(chunk);
	return error;
}

static bool segment_has(const struct elf_file *file, const Elf64_Phdr *segment, char *chunk,
			const char *bytes, size_t length)
{
	size_t kept = 0;

	for (uint64_t done = 0; done < segment->p_filesz && done < ELF_FILE_TABLE_MAX;) {
		size_t size = CHUNK_BYTES;

		if (size > segment->p_filesz - done)
			size = segment->p_filesz - done;
		if (elf_file__read_offset(file, segment->p_offset + done, chunk + kept, size))
			return false;
		if (memmem(chunk, kept + size, bytes, length))
			return true;
		done += size;
		size += kept;
		kept = size < length - 1 ? size : length - 1;
		memmove(chunk, chunk + size - kept, kept);
	}
	return false;
}

bool elf_file__has_constant(const struct elf_file *file, const char *bytes, size_t length)
{
	char *chunk;
	bool found = false;

	if (!length || length > ELF_FILE_NAME_MAX)
		return false;
	chunk = malloc(CHUNK_BYTES + ELF_FILE_NAME_MAX);
	if (!chunk)
		return false;
	for (size_t i = 0; i < file->segment_count && !found; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type == PT_LOAD && !(segment->p_flags & (PF_W | PF_X)))
			found = segment_has(file, segment, chunk, bytes, length);
	}
	free(chunk);
	return found;
}
