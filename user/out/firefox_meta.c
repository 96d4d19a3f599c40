/* SPDX-License-Identifier: BSD-2-Clause */
#include "firefox.h"

#include "json_text.h"

/* clang-format off */
static const char categories[] =
	"[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"Ruby\",\"color\":\"lightred\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"C function\",\"color\":\"blue\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"Garbage collection\",\"color\":\"orange\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"Waiting\",\"color\":\"purple\",\"subcategories\":[\"Other\"]}]";

#define FIELD(key, label) "{\"key\":\"" key "\",\"label\":\"" label "\",\"format\":\"unique-string\"}"
#define DISPLAY "\"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"]"

static const char marker_schema[] =
	"[{\"name\":\"GC\",\"tooltipLabel\":\"GC {marker.data.gcType}\","
	"\"tableLabel\":\"{marker.data.gcType} {marker.data.cause} {marker.data.reason}\","
	"\"chartLabel\":\"{marker.data.gcType}\"," DISPLAY ",\"fields\":["
	FIELD("gcType", "Type") "," FIELD("cause", "Cause") "," FIELD("reason", "Reason") ","
	FIELD("thread", "Thread") "," FIELD("source", "Source") "],"
	"\"description\":\"Steps of the collector that were told together.\"},\n"
	"{\"name\":\"Wait\",\"tooltipLabel\":\"{marker.data.state}\","
	"\"tableLabel\":\"{marker.data.state} {marker.data.holder}\","
	"\"chartLabel\":\"{marker.data.state}\"," DISPLAY ",\"fields\":["
	FIELD("state", "State") "," FIELD("holder", "GVL holder") "],"
	"\"description\":\"Time off the CPU, and what the thread waited for.\"}]";
/* clang-format on */

void firefox__write_meta(const struct firefox *firefox)
{
	const struct profile_info *info = profile__info(firefox->profile);
	const char *file =
		profile__text(firefox->profile, profile__mapping(firefox->profile)->file);
	FILE *stream = firefox->stream;

	/* No stackwalk, no symbols to look up: all names are there. */
	fputs("\"meta\":{\"version\":31,\"preprocessedProfileVersion\":60,"
	      "\"processType\":0,\"stackwalk\":1,\"debug\":false,\"symbolicated\":true,"
	      "\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,"
	      "\"keepProfileThreadOrder\":true,\"importedFrom\":\"rbprof-bpf\","
	      "\"platform\":\"Linux\",\"oscpu\":\"Linux\",\"misc\":\"\",\"abi\":\"\","
	      "\"toolkit\":\"\",\"product\":",
	      stream);
	json_text__cstring(stream, file ? file : "Ruby");
	fputs(",\"startTime\":", stream);
	json_text__decimal(stream, firefox->origin_ns, FIREFOX_NS_PER_MS);
	if (info->duration_ns > 0) {
		fputs(",\"profilingStartTime\":0,\"profilingEndTime\":", stream);
		json_text__decimal(stream, info->duration_ns, FIREFOX_NS_PER_MS);
	}
	fputs(",\"interval\":", stream);
	json_text__decimal(stream, firefox->period_ns, FIREFOX_NS_PER_MS);
	fputs(",\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},"
	      "\"extensions\":{\"baseURL\":[],\"id\":[],\"name\":[],\"length\":0},\n"
	      "\"categories\":",
	      stream);
	fputs(categories, stream);
	fputs(",\n\"markerSchema\":", stream);
	fputs(marker_schema, stream);
	fputs(",\n\"extra\":[{\"label\":\"rbprof-bpf\",\"entries\":[", stream);
	fputs("{\"label\":\"Value\",\"format\":\"string\",\"value\":", stream);
	json_text__cstring(stream, profile__type(firefox->profile, firefox->options->type)->type);
	putc('}', stream);
	for (size_t i = 0; i < profile__comment_count(firefox->profile); i++) {
		fputs(",{\"label\":\"Comment\",\"format\":\"string\",\"value\":", stream);
		json_text__cstring(stream, profile__comment_at(firefox->profile, i));
		putc('}', stream);
	}
	fputs("]}]}", stream);
}
