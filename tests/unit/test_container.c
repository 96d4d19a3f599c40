/* SPDX-License-Identifier: BSD-2-Clause */
/* The cgroup paths that container runtimes and systemd make: ids or nothing, never wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "user/discover/container.h"

#define ID_A "3f29d1a0b6c84e57a9f00c1d2e3b4a5968778695a4b3c2d1e0f1a2b3c4d5e6f7"
#define ID_B "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static const struct {
	const char *text, *id, *service;
} cases[] = {
	{ "0::/\n", "", "" },
	{ "", "", "" },
	{ "no colons at all\n", "", "" },
	{ "0::/user.slice/user-1000.slice/session-3.scope\n", "", "" },
	{ "0::/system.slice/puma.service\n", "", "puma" },
	{ "0::/system.slice/my\\x2dapp.service\n", "", "my-app" },
	{ "0::/user.slice/user-1000.slice/user@1000.service/app.slice/web.service\n", "", "web" },
	{ "12:memory:/docker/" ID_A "\n0::/\n", ID_A, "" },
	{ "0::/system.slice/docker-" ID_A ".scope\n", ID_A, "" },
	{ "0::/system.slice/docker-" ID_A ".scope/init.scope\n", ID_A, "" },
	{ "0::/docker/" ID_A "/docker/" ID_B "\n", ID_B, "" },
	{ "0::/docker/" ID_A "/kubelet.slice/cri-containerd-" ID_B ".scope\n", ID_B, "" },
	{ "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1b2c.slice/"
	  "cri-containerd-" ID_A ".scope\n",
	  ID_A, "" },
	{ "11:cpu:/kubepods/besteffort/pod9c1b6b0a-8a4c-4bb1-a7f5-1d1f2f3f4f5f/" ID_A "\n", ID_A,
	  "" },
	{ "0::/kubepods.slice/kubepods-pod1.slice/crio-" ID_A ".scope\n", ID_A, "" },
	{ "0::/kubepods.slice/kubepods-pod1.slice/crio-conmon-" ID_A ".scope\n", "", "" },
	{ "0::/machine.slice/libpod-" ID_A ".scope/container\n", ID_A, "" },
	{ "0::/machine.slice/libpod-conmon-" ID_A ".scope\n", "", "" },
	{ "1:name=systemd:/k8s.io/" ID_A "\n", ID_A, "" },
	{ "3:pids:/system.slice/containerd.service/kubepods-burstable-pod1.slice:cri-containerd:" ID_A
	  "\n",
	  ID_A, "" },
	{ "9:cpu:/ecs/task-arn/" ID_A "\n", ID_A, "" },
	{ "0::/ecs/0123456789abcdef0123456789abcdef/0123456789abcdef0123456789abcdef-1234567890\n",
	  "0123456789abcdef0123456789abcdef-1234567890", "" },
	{ "2:cpu:/garden/6f265890-5165-7fab-6b52-18d1f2f3f4f5\n",
	  "6f265890-5165-7fab-6b52-18d1f2f3f4f5", "" },
	{ "0::/lxc.payload.web1/system.slice\n", "web1", "" },
	{ "4:cpu:/lxc/web2\n", "web2", "" },
	{ "4:cpu:/actions_job/" ID_A "\n", ID_A, "" },
	{ "0::/../../kubepods/" ID_A "\n", ID_A, "" },
	/* Not ids: one digit too few or too many, upper case, part of a longer word. */
	{ "0::/docker/3f29d1a0b6c84e57a9f00c1d2e3b4a5968778695a4b3c2d1e0f1a2b3c4d5e6f\n", "", "" },
	{ "0::/docker/a" ID_A "\n", "", "" },
	{ "0::/docker/3F29D1A0B6C84E57A9F00C1D2E3B4A5968778695A4B3C2D1E0F1A2B3C4D5E6F7\n", "", "" },
	{ "0::/kubepods/besteffort/pod9c1b6b0a-8a4c-4bb1-a7f5-1d1f2f3f4f5f\n", "", "" },
	/* Version 1 and 2 side by side: the one that tells. */
	{ "13:memory:/\n12:name=systemd:/docker/" ID_A "\n0::/system.slice/docker.service\n", ID_A,
	  "" },
	{ "13:memory:/\n12:name=systemd:/system.slice/web.service\n0::/\n", "", "web" },
};

static void test_table(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct container container;
		char text[1024];

		strncpy(text, cases[i].text, sizeof(text) - 1);
		text[sizeof(text) - 1] = '\0';
		container__parse(text, &container);
		assert_string_equal(container.id, cases[i].id);
		assert_string_equal(container.service, cases[i].service);
	}
}

static void test_too_long(void **state)
{
	struct container container = { 0 };
	char path[4096];

	(void)state;
	memset(path, 'a', sizeof(path));
	memcpy(path, "/lxc/", 5);
	path[sizeof(path) - 1] = '\0';
	container__parse_path(path, &container);
	assert_string_equal(container.id, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
