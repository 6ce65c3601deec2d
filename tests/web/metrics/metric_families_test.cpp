#include "web/metrics/metric_families.hpp"

#include <gtest/gtest.h>

namespace haricot::web {
namespace {

constexpr Family kJobs = {"jobs", MetricType::counter, "Jobs."};
constexpr Family kAge = {"age_seconds", MetricType::gauge, "An age."};

std::string written(bool is_openmetrics) {
  Exposition text(is_openmetrics);
  text.begin(kJobs);
  text.add(label("server", "a"), std::uint64_t{3});
  text.add("", std::uint64_t{4});
  text.begin({"nothing", MetricType::gauge, "Nothing."});
  text.begin(kAge);
  text.add(label("server", "a") + "," + label("tube", "b"), 0.25);
  text.end();
  return text.take();
}

TEST(Exposition, IsValidForPrometheus) {
  EXPECT_EQ(written(false),
            "# HELP jobs_total Jobs.\n# TYPE jobs_total counter\njobs_total{server=\"a\"} 3\n"
            "jobs_total 4\n# HELP age_seconds An age.\n# TYPE age_seconds gauge\n"
            "age_seconds{server=\"a\",tube=\"b\"} 0.25\n");
}

TEST(Exposition, IsValidOpenMetrics) {
  EXPECT_EQ(written(true),
            "# HELP jobs Jobs.\n# TYPE jobs counter\njobs_total{server=\"a\"} 3\n"
            "jobs_total 4\n# HELP age_seconds An age.\n# TYPE age_seconds gauge\n"
            "age_seconds{server=\"a\",tube=\"b\"} 0.25\n# EOF\n");
}

TEST(Exposition, ValuesOfLabelsAreEscaped) {
  EXPECT_EQ(label("x", "a\"b\\c"), "x=\"a\\\"b\\\\c\"");
  EXPECT_EQ(label("x", "<b>%41{,}é"), "x=\"<b>%41{,}é\"");
}

TEST(Exposition, InvalidAndControlCharactersAreReplaced) {
  EXPECT_EQ(label("x", "a\nb\x1b[2Jc\u202e"), "x=\"a\ufffdb\ufffd[2Jc\ufffd\"");
  EXPECT_EQ(label("x", "caf\xe9 \xf0\x9f"), "x=\"caf\ufffd \ufffd\ufffd\"");
}

}  // namespace
}  // namespace haricot::web
