// The collectives of shared memory, timed between processes: build/bin/p3d_collectives_bench RANKS
//
// Forks RANKS processes with an arena each, as p3d-run does, and reads requests from standard input, a line each:
// OPERATION BYTES CALLS, of tensors of f32 of BYTES where they are whole. Answers each with the seconds of a call: from
// a barrier of all ranks until the last of them has done CALLS. Before that one call is checked, on numbers that tell a
// wrong rank, order or place. Between requests all processes sleep, so that `run` can measure others in turn.
#include "runtime/Comm/SharedMemory/SharedMemoryTransport.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace p3d;

namespace {

constexpr int64_t maxBytes = int64_t(64) << 20; ///< of a tensor

/// Of the tensor of `rank`, element i; sums over 32 ranks are exact.
float numberOf(int rank, int64_t i) { return float((i * 7 + i / 4096) % 1021 * (rank + 1)); }

/// Where the calls of one rank work: a whole tensor, a second one, and its size.
struct Tensors {
  int rank, ranks;
  float *data, *other;
  int64_t count;

  int64_t chunk() const { return (count + ranks - 1) / ranks; }
  /// The columns of all_to_all's matrix of `ranks` rows of chunks.
  int64_t columns() const { return std::max<int64_t>(count / ranks / ranks, 1) * ranks; }
};

struct Operation {
  const char *name;
  void (*fill)(const Tensors &);
  void (*call)(const Tensors &, Transport &);
  bool (*isRight)(const Tensors &);
};

void fillWhole(const Tensors &t) {
  for (int64_t i = 0; i < t.count; ++i)
    t.data[i] = numberOf(t.rank, i);
}

/// What all_reduce leaves at i.
float sumAt(const Tensors &t, int64_t i) { return numberOf(0, i) * float(t.ranks * (t.ranks + 1) / 2); }

template <typename Expected> bool holds(const float *data, int64_t count, Expected expected) {
  for (int64_t i = 0; i < count; ++i)
    if (data[i] != expected(i))
      return false;
  return true;
}

const Operation operations[] = {
    {"all_reduce", fillWhole,
     [](const Tensors &t, Transport &transport) { transport.allReduce(P3D_TP, 0, P3D_SUM, P3D_F32, t.data, t.count); },
     [](const Tensors &t) { return holds(t.data, t.count, [&](int64_t i) { return sumAt(t, i); }); }},
    {"all_gather",
     [](const Tensors &t) {
       for (int64_t i = 0; i < t.chunk(); ++i)
         t.other[i] = numberOf(t.rank, i);
     },
     [](const Tensors &t, Transport &transport) {
       transport.allGather(P3D_TP, P3D_F32, t.other, t.data, 1, t.chunk(), t.count, 1);
     },
     [](const Tensors &t) {
       return holds(t.data, t.count, [&](int64_t i) { return numberOf(int(i / t.chunk()), i % t.chunk()); });
     }},
    {"reduce_scatter", fillWhole,
     [](const Tensors &t, Transport &transport) {
       transport.reduceScatter(P3D_TP, P3D_SUM, P3D_F32, t.data, t.other, 1, t.chunk(), t.count, 1);
     },
     [](const Tensors &t) {
       return holds(t.other, t.chunk(), [&](int64_t i) {
         int64_t at = t.rank * t.chunk() + i;
         return at < t.count ? sumAt(t, at) : 0;
       });
     }},
    // From columns to rows of a matrix.
    {"all_to_all", fillWhole,
     [](const Tensors &t, Transport &transport) {
       const int64_t shape[] = {t.ranks, t.columns()};
       transport.allToAll(P3D_TP, P3D_F32, t.data, t.other, 2, shape, 1, t.columns() / t.ranks, 0, 1);
     },
     [](const Tensors &t) {
       int64_t part = t.columns() / t.ranks;
       return holds(t.other, t.columns(), [&](int64_t i) { return numberOf(int(i / part), t.rank * part + i % part); });
     }},
};

struct Request {
  int operation;
  int64_t bytes, calls;
};

/// What a rank answers; `seconds` below 0: it failed.
struct Answer {
  int rank;
  double seconds;
};

[[noreturn]] void give(const std::string &text, int rank = -1) {
  fmt::print(stderr, "p3d_collectives_bench{}: {}\n", rank < 0 ? "" : fmt::format(", rank {}", rank), text);
  _exit(1);
}

void writeAll(int fd, const void *data, size_t bytes) {
  if (write(fd, data, bytes) != ssize_t(bytes))
    give("cannot write to a pipe");
}

double secondsOf(const Request &request, const Tensors &tensors, Transport &transport) {
  const Operation &operation = operations[request.operation];
  operation.fill(tensors);
  operation.call(tensors, transport);
  if (!operation.isRight(tensors))
    throw std::runtime_error(fmt::format("{} of {} bytes is wrong", operation.name, request.bytes));
  // Sums in place would grow beyond all numbers.
  std::memset(tensors.data, 0, size_t(tensors.count) * sizeof(float));
  operation.call(tensors, transport);
  double word = 0;
  transport.sumOverNorm(&word); // the start
  int64_t start = monotonicNs();
  for (int64_t i = 0; i < request.calls; ++i)
    operation.call(tensors, transport);
  return double(monotonicNs() - start) * 1e-9;
}

void serve(int rank, const Program &program, const Control &control, const std::vector<int> &arenaFds, int requests,
           int answers) {
  Arenas arenas(rank, arenaFds);
  SharedMemoryTransport transport(program, rank, control, arenas, 60'000'000'000);
  control.rank(rank).activity.store(uint32_t(Activity::Running));
  Request request;
  while (read(requests, &request, sizeof(request)) == ssize_t(sizeof(request))) {
    // The second tensor holds as many elements as the first, rounded up to ranks.
    char *arena = arenas.own();
    Tensors tensors{rank, program.mesh.size(), reinterpret_cast<float *>(arena),
                    reinterpret_cast<float *>(arena + maxBytes), request.bytes / int64_t(sizeof(float))};
    Answer answer{rank, secondsOf(request, tensors, transport)};
    writeAll(answers, &answer, sizeof(answer));
  }
}

/// The requests of standard input, each handed to all ranks and answered when all have.
void answerRequests(const std::vector<int> &ranks, int answers) {
  char name[32];
  for (Request request; std::scanf("%31s %ld %ld", name, &request.bytes, &request.calls) == 3;) {
    auto found = std::find_if(std::begin(operations), std::end(operations),
                              [&](const Operation &operation) { return std::strcmp(operation.name, name) == 0; });
    if (found == std::end(operations) || request.bytes < 4 || request.bytes > maxBytes || request.calls < 1)
      give(fmt::format("no request: {} {} {}", name, request.bytes, request.calls));
    request.operation = int(found - operations);
    for (int fd : ranks)
      writeAll(fd, &request, sizeof(request));
    double slowest = 0;
    for (size_t i = 0; i < ranks.size(); ++i) {
      Answer answer;
      if (read(answers, &answer, sizeof(answer)) != ssize_t(sizeof(answer)))
        give("the ranks have ended");
      slowest = std::max(slowest, answer.seconds);
    }
    std::printf("%.9f\n", slowest / double(request.calls));
    std::fflush(stdout);
  }
}

} // namespace

int main(int argc, char **argv) {
  int size = argc == 2 ? std::atoi(argv[1]) : 0;
  if (size < 1)
    give("expected the number of ranks");
  Control control = Control::create(size);
  std::vector<int> arenaFds, requests;
  for (int rank = 0; rank < size; ++rank)
    arenaFds.push_back(createArena(2 * maxBytes + 4 * size));
  Program program;
  program.mesh = {size, 1, 1};
  program.normAxes = {P3D_TP};
  int answers[2];
  if (pipe(answers) != 0)
    give("cannot make a pipe");
  for (int rank = 0; rank < size; ++rank) {
    int ends[2];
    if (pipe(ends) != 0)
      give("cannot make a pipe");
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (int fd : requests)
        close(fd);
      close(ends[1]);
      close(answers[0]);
      try {
        serve(rank, program, control, arenaFds, ends[0], answers[1]);
      } catch (const std::exception &error) {
        give(error.what(), rank);
      }
      _exit(0);
    }
    close(ends[0]);
    requests.push_back(ends[1]);
  }
  close(answers[1]);
  answerRequests(requests, answers[0]);
  for (int fd : requests)
    close(fd);
  while (wait(nullptr) > 0) {
  }
}
