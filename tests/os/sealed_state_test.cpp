#include "os/sealed_state.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace haricot::os {
namespace {

// Returns a descriptor that is recognized by its number of bytes.
Descriptor marked(std::size_t mark) {
  Descriptor file(::memfd_create("mark", MFD_CLOEXEC));
  EXPECT_EQ(::ftruncate(file.get(), static_cast<off_t>(mark)), 0);
  return file;
}

std::size_t mark_of(const Descriptor& descriptor) {
  struct stat status {};
  EXPECT_EQ(::fstat(descriptor.get(), &status), 0);
  return static_cast<std::size_t>(status.st_size);
}

std::vector<Descriptor> many(std::size_t count) {
  std::vector<Descriptor> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(marked(i + 1));
  return all;
}

std::vector<int> numbers(const std::vector<Descriptor>& descriptors) {
  std::vector<int> result;
  for (const Descriptor& descriptor : descriptors) result.push_back(descriptor.get());
  return result;
}

std::vector<NamedDescriptor> packed(std::string_view state,
                                    const std::vector<Descriptor>& descriptors) {
  SealedStateWriter writer;
  std::string error;
  EXPECT_TRUE(writer.open(error)) << error;
  EXPECT_TRUE(writer.write(state.substr(0, state.size() / 2)));
  EXPECT_TRUE(writer.write(state.substr(state.size() / 2)));
  EXPECT_TRUE(writer.add(numbers(descriptors), error)) << error;
  std::vector<NamedDescriptor> parts;
  EXPECT_TRUE(writer.finish(parts, error)) << error;
  return parts;
}

void expect_marks(const SealedState& sealed, std::size_t count) {
  std::vector<Descriptor> copies;
  std::string error;
  ASSERT_TRUE(sealed.copy_descriptors(copies, error)) << error;
  ASSERT_EQ(copies.size(), count);
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(mark_of(copies[i]), i + 1);
}

class ManyDescriptors : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit limit = before_;
    limit.rlim_cur = limit.rlim_max;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  void TearDown() override { ::setrlimit(RLIMIT_NOFILE, &before_); }
  rlimit before_{};
};

TEST_F(ManyDescriptors, AreTakenOutOfAParcelInTheirOrderAgainAndAgain) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{250}, std::size_t{251}}) {
    std::vector<Descriptor> descriptors = many(count);
    std::optional<SealedState> sealed;
    {
      std::string error;
      sealed.emplace(*SealedState::open(packed("the state", descriptors), error));
    }
    descriptors.clear();  // Only the state has them from now on.
    EXPECT_EQ(sealed->bytes(), "the state");
    EXPECT_EQ(sealed->parts().size(), 2U);
    for (int time = 0; time < 3; ++time) expect_marks(*sealed, count);
  }
}

TEST_F(ManyDescriptors, AreInMoreThanOneSocketWhereTheyAreTooManyForOne) {
  constexpr std::size_t kCount = 1'000;
  const std::vector<Descriptor> descriptors = many(kCount);
  SealedStateWriter writer;
  std::string error;
  ASSERT_TRUE(writer.open(error)) << error;
  // Messages fill a socket, not descriptors.
  for (const int number : numbers(descriptors))
    ASSERT_TRUE(writer.add({&number, 1}, error)) << error;
  std::vector<NamedDescriptor> parts;
  ASSERT_TRUE(writer.finish(parts, error)) << error;
  EXPECT_GT(parts.size(), 2U);
  // A service manager passes them in any order.
  std::reverse(parts.begin(), parts.end());
  const std::optional<SealedState> sealed = SealedState::open(std::move(parts), error);
  ASSERT_TRUE(sealed) << error;
  expect_marks(*sealed, kCount);
}

TEST(SealedState, MayHaveNoDescriptorsAndNoState) {
  std::string error;
  const std::optional<SealedState> sealed = SealedState::open(packed("", {}), error);
  ASSERT_TRUE(sealed) << error;
  EXPECT_EQ(sealed->bytes(), "");
  expect_marks(*sealed, 0);
}

TEST(SealedState, OfWhichAPartIsMissingIsRefused) {
  std::string error;
  std::vector<NamedDescriptor> parts = packed("state", many(2));
  parts.erase(parts.begin());
  EXPECT_FALSE(SealedState::open(std::move(parts), error));
  EXPECT_EQ(error, "the state has no part parcel-state");
  EXPECT_FALSE(SealedState::open({}, error));

  parts = packed("state", many(2));
  parts[1].name = "parcel-descriptors-1";
  EXPECT_FALSE(SealedState::open(std::move(parts), error));
  EXPECT_EQ(error, "the state has no part parcel-descriptors-0");
}

TEST(SealedState, ThatIsNotSealedIsRefused) {
  std::string error;
  std::vector<NamedDescriptor> parts;
  parts.push_back({"parcel-state", marked(10)});
  EXPECT_FALSE(SealedState::open(std::move(parts), error));
  EXPECT_EQ(error, "the state is not sealed");
}

TEST(SealedState, WithAnOpenSenderIsUnfinished) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const Descriptor sender(ends[0]);
  std::vector<NamedDescriptor> parts = packed("state", many(2));
  parts[1].descriptor = Descriptor(ends[1]);
  std::string error;
  const std::optional<SealedState> sealed = SealedState::open(std::move(parts), error);
  ASSERT_TRUE(sealed) << error;
  std::vector<Descriptor> copies;
  EXPECT_FALSE(sealed->copy_descriptors(copies, error));
  EXPECT_TRUE(error.starts_with("the state is not finished")) << error;
}

TEST(SealedState, ReportsTooFewDescriptors) {
  std::string error;
  const std::optional<SealedState> sealed = SealedState::open(packed("state", many(100)), error);
  ASSERT_TRUE(sealed) << error;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 50;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<Descriptor> copies;
  const bool has_all = sealed->copy_descriptors(copies, error);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(has_all);
  EXPECT_LT(copies.size(), 100U);
  EXPECT_EQ(error, "cannot receive all descriptors of the state: too many are open");
  copies.clear();
  expect_marks(*sealed, 100);
}

TEST(SealedState, ANameContainsItsParts) {
  for (const NamedDescriptor& part : packed("state", many(1)))
    EXPECT_TRUE(SealedState::is_part(part.name));
  EXPECT_FALSE(SealedState::is_part("haricot.socket"));
  EXPECT_FALSE(SealedState::is_part("parcel"));
}

}  // namespace
}  // namespace haricot::os
