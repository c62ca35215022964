// Forks the ranks and collects what they threw through a mapping of reports.
#include "test/unit/runtime/World.h"
#include <cstring>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace p3d::test {

void require(bool holds, const std::string &what) {
  if (!holds)
    throw std::runtime_error(what);
}

namespace {
constexpr size_t reportBytes = 4096;

void runAsRank(int rank, Program &program, const Control &control,
               const WorldLinks &links,
               const std::function<void(WorldRank &)> &body,
               double timeoutSeconds, char *report) {
  try {
    control.rank(rank).pid.store(getpid());
    control.rank(rank).activity.store(uint32_t(Activity::Running));
    links.connect(rank, program, control, int64_t(timeoutSeconds * 1e9),
                  [&](const WorldLink &link) {
                    WorldRank world{link, rank, program.mesh.coordinates(rank),
                                    program, control.rank(rank)};
                    body(world);
                  });
  } catch (const std::exception &error) {
    std::strncpy(report, error.what(), reportBytes - 1);
  }
}
} // namespace

std::vector<std::string> runWorld(const Mesh &mesh,
                                  const std::function<void(WorldRank &)> &body,
                                  double timeoutSeconds, int64_t arenaBytes) {
  int size = mesh.size();
  Control control = Control::create(size);
  control.header().eventFd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::unique_ptr<WorldLinks> links = makeWorldLinks(size, arenaBytes);
  Program program;
  program.mesh = mesh;
  program.stages = mesh.pp;
  program.normAxes = {P3D_TP, P3D_PP};
  program.arenaBytes = arenaBytes;
  size_t bytes = reportBytes * size_t(size);
  char *reports =
      static_cast<char *>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::vector<pid_t> pids;
  for (int rank = 0; rank < size; ++rank) {
    pid_t pid = fork();
    if (pid == 0) {
      setenv("P3D_RANK", std::to_string(rank).c_str(), 1);
      runAsRank(rank, program, control, *links, body, timeoutSeconds,
                reports + reportBytes * size_t(rank));
      exit(0); // the emulated libraries look for what is left over
    }
    pids.push_back(pid);
  }
  std::vector<std::string> texts;
  for (int rank = 0; rank < size; ++rank) {
    int status = 0;
    waitpid(pids[rank], &status, 0);
    texts.emplace_back(reports + reportBytes * size_t(rank));
    if (status != 0)
      texts.back() += fmt::format(" ended with status {}: {}", status,
                                  control.header().failure);
  }
  munmap(reports, bytes);
  return texts;
}

void expectWorld(const Mesh &mesh,
                 const std::function<void(WorldRank &)> &body) {
  std::vector<std::string> texts = runWorld(mesh, body);
  for (size_t rank = 0; rank < texts.size(); ++rank)
    EXPECT_EQ(texts[rank], "") << "rank " << rank << " of " << texts.size();
}

} // namespace p3d::test
