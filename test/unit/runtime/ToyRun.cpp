// The toy's files, command and reference.
#include "test/unit/runtime/ToyRun.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <future>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;
using testing::HasSubstr;

namespace p3d::test {

CommandResult runCommand(const std::string &command) {
  auto start = std::chrono::steady_clock::now();
  FILE *pipe = popen(("{ " + command + "; } 2>&1").c_str(), "r");
  CommandResult result{};
  char block[4096];
  size_t got;
  while ((got = fread(block, 1, sizeof(block), pipe)) > 0)
    result.output.append(block, got);
  result.exitCode = WEXITSTATUS(pclose(pipe));
  result.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return result;
}

std::string onFullDisk(const std::string &disk, const std::string &command) {
  // Also where the root is no mount point, and without privileges.
  const std::string own = " sh -c 'mount --make-rprivate / 2> /dev/null; mount -t tmpfs ";
  for (const char *way : {"unshare -m --propagation unchanged", "unshare -rm"})
    if (runCommand(way + own + "none /mnt'").exitCode == 0) {
      fs::create_directory(disk);
      return way + own + "-o size=8k none " + disk + " && head -c 8192 /dev/zero > " + disk + "/full; " + command + "'";
    }
  return "";
}

ToyRun::ToyRun(const std::string &programs) {
  std::string name = (fs::temp_directory_path() / "p3d-toy-XXXXXX").string();
  directory = mkdtemp(name.data());
  fs::create_directory(path("bin"));
  std::string ranks;
  for (int rank = 0; rank < 8; ++rank) {
    std::string program = fmt::format("stage{}", rank / 4);
    fs::create_symlink(fmt::format("{}/bin/{}", programs, program),
                       path(fmt::format("bin/rank_{}", rank)));
    ranks += fmt::format("{}{{\"rank\":{},\"program\":\"{}\"}}",
                         rank ? "," : "", rank, program);
  }
  fs::create_symlink(programs + "/bin/stage0", path("bin/rank"));
  std::ofstream(path("manifest.json"))
      << "{\"version\":1,\"ranks\":[" << ranks << "]}";
  writeTensors(path("batch.safetensors"),
               {{"batch.t", P3D_F32, {8, 4}}, {"batch.x", P3D_F32, {8, 4}}},
               toyBatch());
}

ToyRun::~ToyRun() { fs::remove_all(directory); }

CommandResult ToyRun::run(const std::string &flags,
                          const std::string &environment) const {
  return runCommand(fmt::format("{} timeout 60 {}/p3d-run {} --data={} {}",
                                environment, P3D_BIN, directory,
                                path("batch.safetensors"), flags));
}

int freePort() {
  // Below what Linux gives to connections, and from a place of each process's own.
  constexpr int first = 12'000, ports = 20'000;
  static int next = getpid() * 7 % ports;
  for (;; next = (next + 1) % ports) {
    int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in any{};
    any.sin_family = AF_INET, any.sin_port = htons(uint16_t(first + next));
    bool isFree = bind(socket, reinterpret_cast<sockaddr *>(&any), sizeof(any)) == 0;
    close(socket);
    if (isFree)
      return first + next++;
  }
}

std::vector<CommandResult>
ToyRun::runParts(const std::vector<Part> &parts,
                 const std::string &environment) const {
  int port = freePort();
  std::vector<std::future<CommandResult>> running;
  for (const Part &part : parts)
    running.push_back(std::async(std::launch::async, [&, part] {
      return runCommand(fmt::format(
          "{} MASTER_ADDR=127.0.0.1 MASTER_PORT={} {} timeout {} {} --data={} {}",
          environment, port, part.environment,
          part.killAfter ? fmt::format("-s KILL {}", part.killAfter) : "60",
          part.isLauncher
              ? fmt::format("{}/p3d-run {}", P3D_BIN, directory)
              : path("bin/rank"),
          path("batch.safetensors"), part.flags));
    }));
  std::vector<CommandResult> results;
  for (auto &result : running)
    results.push_back(result.get());
  return results;
}

void ToyRun::setProgram(int rank, const std::string &script) const {
  fs::path file = path(fmt::format("bin/rank_{}", rank));
  fs::remove(file);
  std::ofstream(file) << "#!/bin/sh\n" << script << "\n";
  fs::permissions(file, fs::perms::owner_all);
}

std::vector<std::string> ToyRun::files() const {
  std::vector<std::string> names;
  for (const fs::directory_entry &entry : fs::directory_iterator(directory))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

Tensors readTensors(const std::string &path) {
  SafetensorsFile file(path);
  Tensors tensors;
  for (const auto &[name, view] : file.tensors()) {
    std::vector<float> &values = tensors[name];
    values.resize(size_t(view.bytes) / 4);
    std::memcpy(values.data(), view.data, size_t(view.bytes));
  }
  return tensors;
}

void writeTensors(const std::string &path, const std::vector<TensorSpec> &specs,
                  const Tensors &values) {
  int64_t bytes = 0;
  std::ofstream file(path, std::ios::binary);
  file << safetensorsHeader(specs, bytes);
  for (const TensorSpec &spec : specs) {
    const std::vector<float> &data = values.at(spec.name);
    file.write(reinterpret_cast<const char *>(data.data()),
               std::streamsize(data.size() * 4));
  }
}

Tensors toyBatch() {
  Tensors batch;
  for (const char *name : {"batch.x", "batch.t"})
    for (int i = 0; i < 32; ++i) // skewed: no two rows or columns alike
      batch[name].push_back(float((i * 37 + 11 * name[6]) % 29) / 14 - 1 +
                            float(i) / 64);
  return batch;
}

double toyLoss(const Tensors &params, const Tensors &batch,
               std::map<std::string, std::vector<double>> &gradients) {
  const std::vector<float> &a = params.at("params.a"),
                           &b = params.at("params.b"),
                           &bias = params.at("params.bias");
  const std::vector<float> &x = batch.at("batch.x"), &t = batch.at("batch.t");
  std::vector<double> &da = gradients["grads.a"], &db = gradients["grads.b"],
                      &dbias = gradients["grads.bias"];
  da.assign(24, 0), db.assign(24, 0), dbias.assign(4, 0);
  double loss = 0;
  for (int row = 0; row < 8; ++row) {
    double h[6] = {}, dh[6] = {};
    for (int f = 0; f < 6; ++f)
      for (int i = 0; i < 4; ++i)
        h[f] += double(x[row * 4 + i]) * a[i * 6 + f];
    for (int o = 0; o < 4; ++o) {
      double e = double(bias[o]) - t[row * 4 + o];
      for (int f = 0; f < 6; ++f)
        e += h[f] * b[f * 4 + o];
      loss += e * e / 2;
      dbias[o] += e;
      for (int f = 0; f < 6; ++f) {
        db[f * 4 + o] += h[f] * e;
        dh[f] += e * b[f * 4 + o];
      }
    }
    for (int f = 0; f < 6; ++f)
      for (int i = 0; i < 4; ++i)
        da[i * 6 + f] += x[row * 4 + i] * dh[f];
  }
  return loss;
}

static std::vector<nlohmann::json>
readLog(const std::string &path) {
  std::vector<nlohmann::json> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    lines.push_back(nlohmann::json::parse(line));
  return lines;
}

void expectOneDevice(const ToyRun &toy) {
  CommandResult start = toy.run("--steps=1 --seed=3 --lr=0 --export=" +
                                toy.path("start.safetensors"));
  ASSERT_EQ(start.exitCode, 0) << start.output;
  EXPECT_THAT(start.output,
              HasSubstr("initialise params.a: normal, std 0.5\n"));
  CommandResult result = toy.run(
      "--steps=3 --lr=0.01 --clip=2 --params=" + toy.path("start.safetensors") +
      " --log=" + toy.path("log.jsonl") +
      " --dump-grads=" + toy.path("grads.safetensors") +
      " --export=" + toy.path("end.safetensors"));
  ASSERT_EQ(result.exitCode, 0) << result.output;

  Tensors params = readTensors(toy.path("start.safetensors"));
  Tensors dumped = readTensors(toy.path("grads.safetensors"));
  std::vector<nlohmann::json> log = readLog(toy.path("log.jsonl"));
  ASSERT_EQ(log.size(), 3u);
  std::map<std::string, std::vector<double>> m, v, gradients;
  for (int step = 1; step <= 3; ++step) {
    double loss = toyLoss(params, toyBatch(), gradients);
    EXPECT_NEAR(log[step - 1]["loss"].get<double>(), loss, 1e-5 * loss);
    double squares = 0;
    for (const auto &[name, gradient] : gradients)
      for (size_t i = 0; i < gradient.size(); ++i) {
        squares += gradient[i] * gradient[i];
        if (step == 1)
          EXPECT_NEAR(dumped.at(name)[i], gradient[i], 1e-4) << name;
      }
    double norm = std::sqrt(squares);
    EXPECT_NEAR(log[step - 1]["grad_norm"].get<double>(), norm, 1e-5 * norm);
    double scale = std::min(1.0, 2 / norm);
    for (auto &[name, values] : params) {
      const std::vector<double> &g = gradients.at("grads" + name.substr(6));
      std::vector<double> &first = m[name], &second = v[name];
      first.resize(g.size()), second.resize(g.size());
      double decay = name == "params.bias" ? 0 : 0.1;
      for (size_t i = 0; i < g.size(); ++i) {
        first[i] = 0.9 * first[i] + 0.1 * scale * g[i];
        second[i] = 0.95 * second[i] + 0.05 * scale * scale * g[i] * g[i];
        double step1 = first[i] / (1 - std::pow(0.9, step));
        double step2 = std::sqrt(second[i] / (1 - std::pow(0.95, step)));
        values[i] -= float(0.01 * (step1 / (step2 + 1e-8) + decay * values[i]));
      }
    }
  }
  Tensors end = readTensors(toy.path("end.safetensors"));
  for (const auto &[name, values] : params)
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(end.at(name)[i], values[i], 1e-5) << name << " " << i;
}

} // namespace p3d::test
