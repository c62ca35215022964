#include "test/emulator/tests/Ranks.h"
#include <cstring>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

static std::map<std::string, Scenario> &scenarios() {
  static std::map<std::string, Scenario> all;
  return all;
}

RegisterScenario::RegisterScenario(const char *name, Scenario scenario) { scenarios()[name] = scenario; }

/// The id travels in the environment, as hexadecimal.
static std::string toHex(const ncclUniqueId &id) {
  std::string text;
  char digits[3];
  for (char byte : id.internal) {
    snprintf(digits, sizeof(digits), "%02x", (unsigned char)byte);
    text += digits;
  }
  return text;
}
static ncclUniqueId fromHex(const std::string &text) {
  ncclUniqueId id;
  for (size_t i = 0; i < sizeof(id.internal); ++i)
    id.internal[i] = char(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return id;
}

std::vector<RankResult> runRanks(const char *scenario, int ranks, std::map<std::string, std::string> environment) {
  ncclUniqueId id;
  Nccl().ncclGetUniqueId(&id);
  environment["P3D_TEST_SCENARIO"] = scenario;
  environment["P3D_TEST_RANKS"] = std::to_string(ranks);
  environment["P3D_TEST_ID"] = toHex(id);
  std::vector<pid_t> children;
  std::vector<int> pipes;
  for (int rank = 0; rank < ranks; ++rank) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
      dup2(ends[1], 2);
      for (auto &[name, value] : environment)
        setenv(name.c_str(), value.c_str(), 1);
      setenv("P3D_RANK", std::to_string(rank).c_str(), 1);
      execl("/proc/self/exe", "rank", nullptr);
      _exit(127);
    }
    close(ends[1]);
    children.push_back(child);
    pipes.push_back(ends[0]);
  }
  std::vector<RankResult> results(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    char buffer[4096];
    for (ssize_t bytes; (bytes = read(pipes[rank], buffer, sizeof(buffer))) > 0;)
      results[rank].text.append(buffer, bytes);
    close(pipes[rank]);
    int status;
    waitpid(children[rank], &status, 0);
    results[rank].code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return results;
}

int mainOfRanks(int argc, char **argv) {
  if (const char *name = getenv("P3D_TEST_SCENARIO")) {
    RankContext rank{atoi(getenv("P3D_RANK")), atoi(getenv("P3D_TEST_RANKS")), fromHex(getenv("P3D_TEST_ID"))};
    scenarios().at(name)(rank);
    return 0;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
