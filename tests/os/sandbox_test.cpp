// The sandbox, entered by children of the test: which operations work in it, which fail, and its
// operation on kernels without some features.

#include "os/sandbox.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "child_result.hpp"
#include "haricot/base/check.hpp"
#include "support/temporary_folder.hpp"

namespace haricot::os {
namespace {

constexpr int kNoSandbox = 99;

// Makes a system call by its number, with arguments that would be harmless.
long call(long number, long first = 0, long second = 0, long third = 0, long fourth = 0) {
  return ::syscall(number, first, second, third, fourth, 0L, 0L);
}

bool fails_with(int error, long result) {
  return result == -1 && errno == error;
}

// Makes a system call fail with ENOSYS, as on a kernel that lacks it.
bool take_call_away(long number) {
  std::array<sock_filter, 4> instructions{
      sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<std::uint32_t>(number)},
      sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS},
      sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
  const sock_fprog program{.len = instructions.size(), .filter = instructions.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

class SandboxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_descriptor_ = ::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT_GE(folder_descriptor_, 0);
    std::string missing;
    ASSERT_EQ(::pipe2(said_.data(), O_CLOEXEC), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const std::string text = sandbox().enter();
      const bool told = ::write(said_[1], text.data(), text.size()) >= 0;
      ::_exit(told ? 0 : 1);
    }
    ASSERT_EQ(wait_for(child), 0);
    ::close(said_[1]);
    missing.resize(1000);
    missing.resize(static_cast<std::size_t>(::read(said_[0], missing.data(), missing.size())));
    ::close(said_[0]);
    if (!missing.empty()) GTEST_SKIP() << "there is no whole sandbox here: " << missing;
  }
  void TearDown() override { ::close(folder_descriptor_); }

  Sandbox sandbox(bool notifies = false, bool hands_over = false) const {
    Sandbox result;
    result.paths.folder = folder_descriptor_;
    result.paths.removal_folders = {other_.path()};
    result.notifies = notifies;
    result.hands_over = hands_over;
    return result;
  }
  // Returns the result of the function in a child within the sandbox.
  int result_within(const std::function<int()>& function, bool notifies = false,
                    bool hands_over = false) const {
    return result_in_child([&] {
      const std::string missing = sandbox(notifies, hands_over).enter();
      return missing.empty() ? function() : kNoSandbox;
    });
  }

  test::TemporaryFolder folder_;
  test::TemporaryFolder other_;
  int folder_descriptor_ = -1;
  std::array<int, 2> said_{};
};

TEST_F(SandboxTest, FilesOfTheFolderAreMadeWrittenRenamedListedAndRemoved) {
  const int folder = folder_descriptor_;
  const auto use_folder = [folder] {
    const int file = ::openat(folder, "new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) return 1;
    std::array<char, 3> text{'a', 'b', 'c'};
    const iovec piece{text.data(), text.size()};
    if (::pwritev(file, &piece, 1, 0) != 3) return 2;
    if (::fallocate(file, 0, 3, 10'000) != 0 && errno != EOPNOTSUPP) return 3;
    if (::ftruncate(file, 3) != 0) return 4;
    if (::fdatasync(file) != 0 || ::fsync(folder) != 0) return 5;
    struct stat status {};
    if (::fstat(file, &status) != 0 || status.st_size != 3) return 6;
    ::close(file);
    if (::renameat(folder, "new", folder, "renamed") != 0) return 7;
    const int again = ::openat(folder, "renamed", O_RDONLY | O_CLOEXEC);
    if (again < 0 || ::pread(again, text.data(), 3, 0) != 3) return 8;
    DIR* const names = ::fdopendir(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    int count = 0;
    while (names != nullptr && ::readdir(names) != nullptr) ++count;
    if (count != 3) return 9;
    if (::linkat(folder, "renamed", folder, "linked", 0) != 0) return 11;
    if (::unlinkat(folder, "linked", 0) != 0) return 12;
    const bool is_free = ::renameat2(folder, "renamed", folder, "moved", RENAME_NOREPLACE) == 0;
    if (!is_free && errno != EINVAL) return 13;
    return ::unlinkat(folder, is_free ? "moved" : "renamed", 0) == 0 ? kGood : 10;
  };
  EXPECT_EQ(result_within(use_folder), kGood);
}

TEST_F(SandboxTest, FilesElsewhereAreNotOpenedNorMadeNorRemoved) {
  const std::string outside =
      ::testing::TempDir() + "/haricot-sandbox-" + std::to_string(::getpid());
  const int made = ::open(outside.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(made, 0);
  ::close(made);
  const int folder = folder_descriptor_;
  const auto look_around = [&outside, folder] {
    if (!fails_with(EACCES, ::open("/etc/passwd", O_RDONLY))) return 1;
    if (!fails_with(EACCES, ::open("/proc/self/maps", O_RDONLY))) return 2;
    if (!fails_with(EACCES, ::open(outside.c_str(), O_WRONLY))) return 3;
    if (!fails_with(EACCES, ::open((outside + "-new").c_str(), O_WRONLY | O_CREAT, 0600))) return 4;
    if (!fails_with(EACCES, ::unlink(outside.c_str()))) return 5;
    if (!fails_with(EACCES, ::open("/", O_RDONLY | O_DIRECTORY))) return 6;
    if (!fails_with(EACCES, ::openat(folder, "../..", O_RDONLY | O_DIRECTORY))) return 7;
    return kGood;
  };
  EXPECT_EQ(result_within(look_around), kGood);
  ::unlink(outside.c_str());
}

TEST_F(SandboxTest, WhereASocketStandsFilesAreRemovedAndNothingElse) {
  const std::string path = other_.file("socket");
  ASSERT_EQ(::close(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
  const auto use_other = [&path] {
    if (!fails_with(EACCES, ::open(path.c_str(), O_RDONLY))) return 1;
    if (!fails_with(EACCES, ::open((path + "2").c_str(), O_WRONLY | O_CREAT, 0600))) return 2;
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return 3;
    return ::unlink(path.c_str()) == 0 ? kGood : 4;
  };
  EXPECT_EQ(result_within(use_other), kGood);
}

struct DeniedCall {
  const char* name;
  long (*make)();
};

// Each would succeed for root, or fail for another reason than EPERM.
const DeniedCall kDenied[] = {
    {"execve",
     [] {
       std::array<char*, 1> none{nullptr};
       return long{::execve("/bin/true", none.data(), none.data())};
     }},
    {"fork", [] { return call(__NR_clone, SIGCHLD); }},
    {"clone into namespaces", [] { return call(__NR_clone, CLONE_NEWNS | CLONE_VM | SIGCHLD); }},
    {"socket of IPv4", [] { return long{::socket(AF_INET, SOCK_STREAM, 0)}; }},
    {"socket of the kernel", [] { return long{::socket(AF_NETLINK, SOCK_RAW, 0)}; }},
    {"socket of unix", [] { return long{::socket(AF_UNIX, SOCK_DGRAM, 0)}; }},
    {"bind", [] { return call(__NR_bind, -1); }},
    {"connect", [] { return call(__NR_connect, -1); }},
    {"listen", [] { return call(__NR_listen, -1); }},
    {"setsockopt", [] { return call(__NR_setsockopt, -1); }},
    {"kill", [] { return call(__NR_kill, ::getppid()); }},
    {"tgkill of others", [] { return call(__NR_tgkill, ::getppid(), ::getppid(), 0); }},
    {"ptrace", [] { return call(__NR_ptrace, PTRACE_TRACEME); }},
    {"process_vm_readv", [] { return call(__NR_process_vm_readv, -1); }},
    {"setuid", [] { return call(__NR_setuid, 0x7fffffff); }},
    {"setresgid", [] { return call(__NR_setresgid, -1, -1, -1); }},
    {"capset", [] { return call(__NR_capset); }},
    {"chmod", [] { return call(__NR_fchmodat, AT_FDCWD); }},
    {"chown", [] { return call(__NR_fchownat, AT_FDCWD); }},
    {"mkdir", [] { return call(__NR_mkdirat, AT_FDCWD); }},
    {"symlink", [] { return call(__NR_symlinkat); }},
    {"mount", [] { return call(__NR_mount); }},
    {"chroot", [] { return call(__NR_chroot); }},
    {"unshare", [] { return call(__NR_unshare, 0); }},
    {"setns", [] { return call(__NR_setns, -1); }},
    {"bpf", [] { return call(__NR_bpf, -1); }},
    {"io_uring_setup", [] { return call(__NR_io_uring_setup, -1); }},
    {"perf_event_open", [] { return call(__NR_perf_event_open); }},
    {"userfaultfd", [] { return call(__NR_userfaultfd, -1); }},
    {"keyctl", [] { return call(__NR_keyctl, -1); }},
    {"init_module", [] { return call(__NR_init_module); }},
    {"reboot", [] { return call(__NR_reboot, 0); }},
    {"personality", [] { return call(__NR_personality, 0xffffffff); }},
    {"prctl", [] { return call(__NR_prctl, PR_GET_DUMPABLE); }},
    {"seccomp", [] { return call(__NR_seccomp, -1); }},
    {"memfd_create", [] { return call(__NR_memfd_create); }},
    {"setting a limit",
     [] {
       const rlimit limit{.rlim_cur = 10, .rlim_max = 10};
       return long{::prlimit(0, RLIMIT_NOFILE, &limit, nullptr)};
     }},
    {"a page to run",
     [] {
       const void* page =
           ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
       return page == MAP_FAILED ? -1L : 0L;
     }},
    {"making a page one to run",
     [] {
       void* page = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
       return page == MAP_FAILED ? 0L : long{::mprotect(page, 4096, PROT_READ | PROT_EXEC)};
     }},
#if defined(__x86_64__)
    {"a call of the x32 kind", [] { return call(0x40000000 | __NR_getpid); }},
#endif
};

TEST_F(SandboxTest, CallsThatNoServerMakesAreRefused) {
  const auto make_all = [] {
    int step = 0;
    for (const DeniedCall& denied : kDenied) {
      ++step;
      if (!fails_with(EPERM, denied.make())) return step;
    }
    return kGood;
  };
  const int step = result_within(make_all);
  if (step == kNoSandbox) FAIL() << "there is no sandbox";
  if (step > 0) FAIL() << kDenied[step - 1].name << " is allowed";
}

TEST_F(SandboxTest, AServerThatNotifiesMakesUnixSocketsAndNoOthers) {
  const std::string path = other_.file("manager");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int manager = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  ASSERT_EQ(::bind(manager, generic, sizeof address), 0);
  const auto notify = [generic] {
    if (!fails_with(EPERM, ::socket(AF_INET, SOCK_STREAM, 0))) return 1;
    const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) return 2;
    if (::connect(socket, generic, sizeof(sockaddr_un)) != 0) return 3;
    return ::send(socket, "READY=1", 7, MSG_NOSIGNAL) == 7 ? kGood : 4;
  };
  EXPECT_EQ(result_within(notify, true), kGood);
  std::array<char, 10> text{};
  EXPECT_EQ(::recv(manager, text.data(), text.size(), MSG_DONTWAIT), 7);
  ::close(manager);
}

TEST_F(SandboxTest, OnlyAServerThatHandsOverMayCreateItsSockets) {
  const auto make_parts = [] {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return 1;
    const int state = ::memfd_create("state", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (state < 0 || ::fcntl(state, F_ADD_SEALS, F_SEAL_SEAL) != 0) return 2;
    return fails_with(EPERM, ::socket(AF_UNIX, SOCK_STREAM, 0)) ? kGood : 3;
  };
  EXPECT_EQ(result_within(make_parts, false, true), kGood);
  EXPECT_EQ(result_within(make_parts, true, false), 1);
  EXPECT_EQ(result_within(make_parts), 1);
}

TEST_F(SandboxTest, MemoryComesGoesAndMoves) {
  const auto use_memory = [] {
    ::mallopt(M_MMAP_THRESHOLD, 192 * 1024);
    for (int round = 0; round < 3; ++round) {
      std::vector<void*> pieces;
      for (int i = 0; i < 20'000; ++i) pieces.push_back(std::malloc(1000));
      for (void* piece : pieces) std::free(piece);
      ::malloc_trim(0);
      void* large = std::malloc(300'000);
      for (std::size_t bytes = 300'000; bytes < 100'000'000; bytes *= 3) {
        void* moved = std::realloc(large, bytes);
        if (moved == nullptr) return 1;
        large = moved;
      }
      large = std::realloc(large, 200'000);
      std::free(large);
    }
    void* pages =
        ::mmap(nullptr, 1 << 22, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || ::madvise(pages, 1 << 22, MADV_DONTNEED) != 0) return 2;
    return kGood;
  };
  EXPECT_EQ(result_within(use_memory), kGood);
}

TEST_F(SandboxTest, ExceptionsRandomNumbersClocksAndEventsWork) {
  std::array<int, 2> pair{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  const auto use_all = [&pair] {
    try {
      throw std::runtime_error("caught");
    } catch (const std::runtime_error&) {
    }
    std::uint64_t bits = 0;
    if (::getrandom(&bits, sizeof bits, 0) != sizeof bits) return 1;
    timespec time{};
    for (const clockid_t clock : {CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_PROCESS_CPUTIME_ID}) {
      if (::clock_gettime(clock, &time) != 0) return 2;
    }
    rusage usage{};
    if (::getrusage(RUSAGE_SELF, &usage) != 0) return 3;
    const int event = ::eventfd(1, EFD_CLOEXEC);
    pollfd poll{.fd = event, .events = POLLIN, .revents = 0};
    if (event < 0 || ::poll(&poll, 1, 0) != 1) return 4;
    sigset_t pending;
    if (::sigpending(&pending) != 0 || ::signal(SIGXFSZ, SIG_IGN) == SIG_ERR) return 5;
    char byte = 'x';
    if (::send(pair[0], &byte, 1, MSG_NOSIGNAL) != 1 || ::recv(pair[1], &byte, 1, 0) != 1) return 6;
    rlimit limit{};
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? kGood : 7;
  };
  EXPECT_EQ(result_within(use_all), kGood);
  ::close(pair[0]);
  ::close(pair[1]);
}

// The thread that syncs the binlog begins with the first sync.
TEST_F(SandboxTest, ThreadsThatAreMadeLaterAreInsideAsWell) {
  const auto make_thread = [] {
    int step = 1;
    std::thread thread([&step] {
      std::vector<char> memory(5'000'000, 'x');  // In an arena of its own.
      if (!fails_with(EACCES, ::open("/etc/passwd", O_RDONLY))) {
        step = 2;
      } else if (!fails_with(EPERM, ::socket(AF_INET, SOCK_STREAM, 0))) {
        step = 3;
      } else {
        step = kGood;
      }
    });
    thread.join();
    return step;
  };
  EXPECT_EQ(result_within(make_thread), kGood);
}

TEST_F(SandboxTest, ThreadsThatAreThereMakeNoOtherCallsEither) {
  const auto enter_late = [] {
    std::atomic<int> step{0};
    std::thread thread([&step] {
      step = 1;
      while (step == 1) ::sched_yield();
      step = fails_with(EPERM, ::socket(AF_INET, SOCK_STREAM, 0)) ? 3 : 4;
    });
    while (step != 1) ::sched_yield();
    std::string error;
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 5;
    const bool good = enter_call_filter({.self = ::getpid()}, error);
    step = 2;
    thread.join();
    if (!good) return 6;
    return step == 3 ? kGood : 7;
  };
  EXPECT_EQ(result_in_child(enter_late), kGood);
}

// A bug of ours must be visible by its message and by the end of the process.
TEST_F(SandboxTest, AFailedCheckIsReportedAndEndsTheProcess) {
  ASSERT_EQ(::pipe2(said_.data(), O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(said_[1], 2);
    const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    if (!sandbox().enter().empty()) ::_exit(kNoSandbox);
    CHECK(::getpid() == 0);
    ::_exit(1);
  }
  const int raw = wait_for(child);
  EXPECT_TRUE(WIFSIGNALED(raw));
  EXPECT_EQ(WTERMSIG(raw), SIGABRT);
  std::array<char, 1000> text{};
  ASSERT_GT(::read(said_[0], text.data(), text.size() - 1), 0);
  EXPECT_NE(std::string(text.data()).find("getpid() == 0"), std::string::npos) << text.data();
  ::close(said_[0]);
  ::close(said_[1]);
}

// Kernels without some features -------------------------------------------------------------------

TEST_F(SandboxTest, WithoutLandlockTheRestHolds) {
  const auto enter = [this] {
    if (!take_call_away(__NR_landlock_create_ruleset)) return 1;
    const std::string missing = sandbox().enter();
    if (missing.find("Landlock: Function not implemented") == std::string::npos) return 2;
    if (missing.find("seccomp") != std::string::npos) return 3;
    if (::open("/etc/passwd", O_RDONLY) < 0) return 4;
    return fails_with(EPERM, ::socket(AF_INET, SOCK_STREAM, 0)) ? kGood : 5;
  };
  EXPECT_EQ(result_in_child(enter), kGood);
}

TEST_F(SandboxTest, WithoutSeccompTheRestHolds) {
  const auto enter = [this] {
    if (!take_call_away(__NR_seccomp)) return 1;
    const std::string missing = sandbox().enter();
    if (missing.find("seccomp: Function not implemented") == std::string::npos) return 2;
    if (missing.find("Landlock") != std::string::npos) return 3;
    if (::socket(AF_INET, SOCK_STREAM, 0) < 0) return 4;
    return fails_with(EACCES, ::open("/etc/passwd", O_RDONLY)) ? kGood : 5;
  };
  EXPECT_EQ(result_in_child(enter), kGood);
}

TEST_F(SandboxTest, WithoutBothOneLineReportsIt) {
  const auto enter = [this] {
    if (!take_call_away(__NR_landlock_create_ruleset) || !take_call_away(__NR_seccomp)) return 1;
    const std::string missing = sandbox().enter();
    if (missing.find("Landlock") == std::string::npos) return 2;
    if (missing.find("seccomp") == std::string::npos) return 3;
    if (missing.find('\n') != std::string::npos) return 4;
    return ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? kGood : 5;
  };
  EXPECT_EQ(result_in_child(enter), kGood);
}

// wants_sandbox()
// ----------------------------------------------------------------------------------

bool wants_sandbox_with(const char* environment, Options::Confinement confinement,
                        const std::string& user = "") {
  const auto ask = [&] {
    ::unsetenv("NOTIFY_SOCKET");
    ::unsetenv("INVOCATION_ID");
    if (*environment != '\0') ::setenv(environment, "value", 1);
    Options options;
    options.confinement = confinement;
    options.user = user;
    return wants_sandbox(options) ? 1 : 0;
  };
  return result_in_child(ask) == 1;
}

TEST(WantsSandbox, IsTheDefaultOfServicesAndServersStartedByRoot) {
  constexpr auto kAutomatic = Options::Confinement::automatic;
  EXPECT_FALSE(wants_sandbox_with("", kAutomatic));
  EXPECT_TRUE(wants_sandbox_with("NOTIFY_SOCKET", kAutomatic));
  EXPECT_TRUE(wants_sandbox_with("INVOCATION_ID", kAutomatic));
  EXPECT_EQ(wants_sandbox_with("", kAutomatic, "nobody"), ::geteuid() == 0);
}

TEST(WantsSandbox, AFlagOverridesTheDefault) {
  EXPECT_TRUE(wants_sandbox_with("", Options::Confinement::always));
  EXPECT_FALSE(wants_sandbox_with("NOTIFY_SOCKET", Options::Confinement::never, "nobody"));
}

TEST(CallFilter, ChecksTheCallsOfEachCommandFirst) {
  const std::vector<sock_filter> program = make_call_filter({.self = 1});
  if (program.empty()) GTEST_SKIP() << "there is no list for this machine";
  std::vector<std::uint32_t> compared;
  for (const sock_filter& instruction : program) {
    if (instruction.code == (BPF_JMP | BPF_JEQ | BPF_K)) compared.push_back(instruction.k);
  }
  ASSERT_GT(compared.size(), 4U);  // The first one is the machine's.
  EXPECT_EQ(compared[1], static_cast<std::uint32_t>(__NR_recvfrom));
  EXPECT_EQ(compared[2], static_cast<std::uint32_t>(__NR_sendto));
  EXPECT_LE(program.size(), static_cast<std::size_t>(BPF_MAXINSNS));
}

}  // namespace
}  // namespace haricot::os
