#include "runtime/tools/p3d-run/Cluster/Placement.h"
#include "runtime/Error.h"
#include "runtime/Train/Random.h"
#include <charconv>
#include <cstring>

namespace p3d {

namespace {
/// The variables of one way to start processes; the local ones may be missing.
struct Starter {
  const char *name, *rank, *count, *localRank, *localCount;
};

// mpirun inside an allocation of Slurm finds variables of both: its own come first.
const Starter starters[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", nullptr},
};
/// What the processes of one start have in common, for a port that they agree on.
const char *const jobNames[] = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "SLURM_JOB_ID"};

class Reader {
public:
  explicit Reader(const Environment &environment) : environment(environment) {}

  bool has(const char *name) const { return name && environment(name) && *environment(name); }
  std::string text(const char *name) const { return has(name) ? environment(name) : ""; }
  int number(const char *name, int low, int high) const {
    std::string digits = text(name);
    int value = 0;
    auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (failed != std::errc() || end != digits.data() + digits.size() || value < low || value > high)
      userError("the environment has {}={}; expected a whole number from {} to {}", name, digits, low, high);
    return value;
  }
  int numberOr(const char *name, int otherwise) const { return has(name) ? number(name, 0, INT32_MAX) : otherwise; }

private:
  const Environment &environment;
};
} // namespace

std::string firstHost(const std::string &list) {
  std::string host;
  for (size_t i = 0; i < list.size() && list[i] != ',';) {
    if (list[i] != '[') {
      host += list[i++];
      continue;
    }
    size_t first = ++i;
    i = list.find_first_of("-,]", first);
    host += list.substr(first, i == std::string::npos ? i : i - first);
    i = list.find(']', first);
    if (i == std::string::npos)
      return host;
    ++i;
  }
  return host;
}

static std::string addressOf(const Reader &reader, const Starter &starter, int count) {
  if (reader.has("MASTER_ADDR"))
    return reader.text("MASTER_ADDR");
  for (const char *list : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"})
    if (reader.has(list))
      return firstHost(reader.text(list));
  if (reader.has(starter.localCount) && reader.number(starter.localCount, 1, INT32_MAX) == count)
    return "127.0.0.1";
  userError(
      "the environment does not say where rank 0 is; set MASTER_ADDR to its host for every process (with Open MPI: "
      "mpirun -x MASTER_ADDR=HOST)");
}

static int portOf(const Reader &reader) {
  // torchrun's agent itself listens at MASTER_PORT.
  bool isTaken = reader.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  if (reader.has("MASTER_PORT"))
    return reader.number("MASTER_PORT", 1, UINT16_MAX - 1) + isTaken;
  std::string job;
  for (const char *name : jobNames)
    if (reader.has(name) && job.empty())
      job = reader.text(name);
  if (job.empty())
    userError("the environment does not say at which port rank 0 is to be found; set MASTER_PORT to the same free port "
              "for every process");
  // Below the ports that systems give to outgoing connections.
  return 12000 + int(hashName(job + "." + reader.text("SLURM_STEP_ID")) % 20000);
}

Placement placeAll(int worldSize) {
  Placement all;
  all.worldSize = all.rankCount = worldSize;
  return all;
}

Placement placeFrom(const Environment &environment, int worldSize, int ranksPerStart) {
  Reader reader(environment);
  for (const Starter &starter : starters) {
    if (!reader.has(starter.rank) || !reader.has(starter.count))
      continue;
    int count = reader.number(starter.count, 1, INT32_MAX), number = reader.number(starter.rank, 0, count - 1);
    if (int64_t(count) * ranksPerStart != worldSize)
      userError("the program has {} ranks, and {} makes {}: {}={}, with {} in each", worldSize, starter.name,
                int64_t(count) * ranksPerStart, starter.count, count, ranksPerStart);
    int local = reader.numberOr(starter.localRank, reader.numberOr("SLURM_LOCALID", 0));
    Placement part{worldSize, number * ranksPerStart, ranksPerStart, local * ranksPerStart, "", 0};
    if (!part.isAlone())
      part.address = addressOf(reader, starter, count), part.port = portOf(reader);
    return part;
  }
  userError("nothing says which rank this is: start under mpirun, srun or torchrun, set RANK, WORLD_SIZE, LOCAL_RANK, "
            "MASTER_ADDR and MASTER_PORT, or start all ranks here with p3d-run DIR --steps=N");
}

} // namespace p3d
