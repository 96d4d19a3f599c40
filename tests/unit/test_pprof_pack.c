/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples packed by us against the same ones packed by the library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pprof.pb-c.h"
#include "user/out/pprof_pack.h"

enum { LOCATIONS = 20000, VALUES = 8, LABELS = 12 };

static uint64_t draw(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	/* Numbers of all lengths. */
	return (*state >> 3) >> (*state >> 58);
}

static size_t pack_by_library(const struct pprof_pack_sample *sample, uint8_t *bytes)
{
	static uint64_t locations[LOCATIONS];
	Perftools__Profiles__Label labels[LABELS], *label_pointers[LABELS];
	Perftools__Profiles__Sample message = PERFTOOLS__PROFILES__SAMPLE__INIT;
	Perftools__Profiles__Sample *messages[] = { &message };
	Perftools__Profiles__Profile profile = PERFTOOLS__PROFILES__PROFILE__INIT;

	for (size_t i = 0; i < sample->location_count; i++)
		locations[i] = sample->locations[i];
	for (size_t i = 0; i < sample->label_count; i++) {
		perftools__profiles__label__init(&labels[i]);
		labels[i].key = sample->labels[i].key;
		labels[i].str = sample->labels[i].text;
		labels[i].num = sample->labels[i].number;
		labels[i].num_unit = sample->labels[i].unit;
		label_pointers[i] = &labels[i];
	}
	message.location_id = locations;
	message.n_location_id = sample->location_count;
	message.value = (int64_t *)sample->values;
	message.n_value = sample->value_count;
	message.label = label_pointers;
	message.n_label = sample->label_count;
	profile.sample = messages;
	profile.n_sample = 1;
	return perftools__profiles__profile__pack(&profile, bytes);
}

static void check(const struct pprof_pack_sample *sample)
{
	/* Exactly the room that is asked for: more is an error of the sanitizer. */
	uint8_t *ours = malloc(
		pprof_pack__room(sample->location_count, sample->value_count, sample->label_count));
	uint8_t *theirs = malloc(11 * LOCATIONS + 4096);
	const uint8_t *bytes;
	size_t size, expected = pack_by_library(sample, theirs);

	bytes = pprof_pack__sample(sample, ours, &size);
	assert_int_equal(size, expected);
	assert_memory_equal(bytes, theirs, size);
	free(ours);
	free(theirs);
}

static void samples_are_as_the_library_packs_them(void **state)
{
	static uint32_t locations[LOCATIONS];
	struct pprof_pack_label labels[LABELS];
	int64_t values[VALUES];
	uint64_t seed = 3;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		struct pprof_pack_sample sample = {
			.locations = locations,
			.location_count = i < 1990 ? draw(&seed) % 400 : LOCATIONS,
			.values = values,
			.value_count = 1 + draw(&seed) % VALUES,
			.labels = labels,
			.label_count = draw(&seed) % (LABELS + 1),
		};

		for (size_t j = 0; j < sample.location_count; j++)
			locations[j] = (uint32_t)draw(&seed);
		for (size_t j = 0; j < sample.value_count; j++)
			values[j] = (int64_t)draw(&seed) * (draw(&seed) % 2 ? 1 : -1);
		for (size_t j = 0; j < sample.label_count; j++)
			labels[j] = (struct pprof_pack_label){
				(int64_t)(draw(&seed) % 1000),
				(int64_t)(draw(&seed) % 3),
				-(int64_t)(draw(&seed) % 2) * (int64_t)draw(&seed),
				(int64_t)(draw(&seed) % 2),
			};
		check(&sample);
	}
}

static void the_widest_numbers_and_nothing_at_all(void **state)
{
	const int64_t values[] = { INT64_MIN, -1, INT64_MAX };
	const uint32_t locations[] = { UINT32_MAX, UINT32_MAX };
	const struct pprof_pack_label labels[] = { { -1, -1, INT64_MIN, -1 }, { 0 } };
	const struct pprof_pack_sample widest = { locations, 2, values, 3, labels, 2 };
	const struct pprof_pack_sample least = { NULL, 0, values + 1, 1, NULL, 0 };

	(void)state;
	check(&widest);
	check(&least);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_as_the_library_packs_them),
		cmocka_unit_test(the_widest_numbers_and_nothing_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
