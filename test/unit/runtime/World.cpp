// Forks the ranks and collects their failures from the control region's texts.
#include "test/unit/runtime/World.h"
#include "runtime/Comm/SharedMemory/SharedMemoryTransport.h"
#include <cstring>
#include <gtest/gtest.h>
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

void runAsRank(int rank, const Mesh &mesh, const Control &control,
               const std::vector<int> &fds,
               const std::function<void(WorldRank &)> &body,
               double timeoutSeconds, char *report) {
  try {
    Program program;
    program.mesh = mesh;
    program.stages = mesh.pp;
    program.normAxes = {P3D_TP, P3D_PP};
    Arenas arenas(rank, fds);
    SharedMemoryTransport transport(program, rank, control, arenas,
                                    int64_t(timeoutSeconds * 1e9));
    control.rank(rank).pid.store(getpid());
    control.rank(rank).activity.store(uint32_t(Activity::Running));
    WorldRank world{rank,         mesh.coordinates(rank), program,
                    arenas.own(), transport,              control.rank(rank),
                    [](p3d_dtype) { return true; }};
    body(world);
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
  std::vector<int> fds;
  for (int rank = 0; rank < size; ++rank)
    fds.push_back(createArena(arenaBytes));
  size_t bytes = reportBytes * size_t(size);
  char *reports =
      static_cast<char *>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::vector<pid_t> pids;
  for (int rank = 0; rank < size; ++rank) {
    pid_t pid = fork();
    if (pid == 0) {
      runAsRank(rank, mesh, control, fds, body, timeoutSeconds,
                reports + reportBytes * size_t(rank));
      _exit(0);
    }
    pids.push_back(pid);
  }
  std::vector<std::string> texts;
  for (int rank = 0; rank < size; ++rank) {
    int status = 0;
    waitpid(pids[rank], &status, 0);
    texts.emplace_back(reports + reportBytes * size_t(rank));
    if (status != 0)
      texts.back() += fmt::format(" ended with status {}", status);
    close(fds[rank]);
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
