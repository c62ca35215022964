// Which ranks a launcher starts, from what mpirun, srun and torchrun say.
#include "runtime/tools/p3d-run/Cluster/Placement.h"
#include "runtime/Error.h"
#include <gmock/gmock.h>
#include <map>

using namespace p3d;
using testing::HasSubstr;

namespace {

using Variables = std::map<std::string, std::string>;

Placement place(const Variables &variables, int worldSize, int ranksPerStart = 1) {
  return placeFrom(
      [&](const char *name) {
        auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      worldSize, ranksPerStart);
}

std::string faultOf(const Variables &variables, int worldSize, int ranksPerStart = 1) {
  try {
    place(variables, worldSize, ranksPerStart);
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), ExitCode::UserError);
    return error.what();
  }
  return "no fault";
}

const Variables torchrun = {
    {"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}, {"MASTER_ADDR", "node0"}, {"MASTER_PORT", "29500"}};

Variables with(Variables variables, const Variables &others) {
  for (const auto &[name, value] : others)
    variables[name] = value;
  return variables;
}

TEST(Placement, OfTorchrun) {
  Placement at = place(torchrun, 8);
  EXPECT_EQ(at.firstRank, 5);
  EXPECT_EQ(at.rankCount, 1);
  EXPECT_EQ(at.localRank, 1);
  EXPECT_EQ(at.address, "node0");
  EXPECT_EQ(at.port, 29500);
  EXPECT_FALSE(at.isRoot());
  // Its agent has taken the port.
  EXPECT_EQ(place(with(torchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}}), 8).port, 29501);
}

TEST(Placement, OfSlurm) {
  Variables srun = {{"SLURM_PROCID", "9"},  {"SLURM_NTASKS", "16"}, {"SLURM_LOCALID", "1"},
                    {"SLURM_JOB_ID", "77"}, {"SLURM_STEP_ID", "0"}, {"SLURM_JOB_NODELIST", "gpu[07-09]"}};
  Placement at = place(srun, 16);
  EXPECT_EQ(at.firstRank, 9);
  EXPECT_EQ(at.localRank, 1);
  EXPECT_EQ(at.address, "gpu07");
  EXPECT_GE(at.port, 12000);
  EXPECT_LT(at.port, 32000);
  EXPECT_EQ(place(with(srun, {{"SLURM_PROCID", "0"}}), 16).port, at.port);
  EXPECT_NE(place(with(srun, {{"SLURM_STEP_ID", "1"}}), 16).port, at.port);
}

TEST(Placement, OfMpirun) {
  Variables mpirun = {{"OMPI_COMM_WORLD_RANK", "2"},
                      {"OMPI_COMM_WORLD_SIZE", "4"},
                      {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                      {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                      {"PMIX_NAMESPACE", "1234@1"},
                      {"SLURM_PROCID", "0"}, // mpirun's own, inside an allocation
                      {"SLURM_NTASKS", "1"}};
  Placement at = place(mpirun, 4);
  EXPECT_EQ(at.firstRank, 2);
  EXPECT_EQ(at.address, "127.0.0.1");
  EXPECT_THAT(faultOf(with(mpirun, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}), 4),
              HasSubstr("the environment does not say where rank 0 is; set MASTER_ADDR to its host for every process "
                        "(with Open MPI: mpirun -x MASTER_ADDR=HOST)"));
  Variables hydra = {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "3"}, {"MPI_LOCALNRANKS", "4"}};
  EXPECT_THAT(
      faultOf(hydra, 4),
      HasSubstr(
          "the environment does not say at which port rank 0 is to be found; set MASTER_PORT to the same free port "
          "for every process"));
  EXPECT_EQ(place(with(hydra, {{"MASTER_PORT", "5000"}}), 4).firstRank, 3);
}

TEST(Placement, OfSeveralRanksEach) {
  Placement at = place(with(torchrun, {{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "0"}}), 32, 8);
  EXPECT_EQ(at.firstRank, 8);
  EXPECT_EQ(at.rankCount, 8);
  EXPECT_EQ(at.localRank, 0);
}

TEST(Placement, OneProcessNeedsNobody) {
  Placement at = place({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}, 1);
  EXPECT_TRUE(at.isAlone());
}

TEST(Placement, RefusesWhatDoesNotFit) {
  EXPECT_THAT(faultOf({}, 8),
              HasSubstr("nothing says which rank this is: start under mpirun, srun or torchrun, set RANK, WORLD_SIZE, "
                        "LOCAL_RANK, MASTER_ADDR and MASTER_PORT, or start all ranks here with p3d-run DIR --steps=N"));
  EXPECT_THAT(faultOf(torchrun, 16),
              HasSubstr("the program has 16 ranks, and torchrun makes 8: WORLD_SIZE=8, with 1 in each"));
  EXPECT_THAT(faultOf(torchrun, 6, 4), HasSubstr("the program has 6 ranks, and torchrun makes 32"));
  EXPECT_THAT(faultOf(with(torchrun, {{"RANK", "8"}}), 8),
              HasSubstr("the environment has RANK=8; expected a whole number from 0 to 7"));
  EXPECT_THAT(faultOf(with(torchrun, {{"MASTER_PORT", "x"}}), 8), HasSubstr("MASTER_PORT=x"));
}

TEST(Placement, FirstHostOfAList) {
  EXPECT_EQ(firstHost("a"), "a");
  EXPECT_EQ(firstHost("a,b"), "a");
  EXPECT_EQ(firstHost("n[001-004,007],m2"), "n001");
  EXPECT_EQ(firstHost("rack[01-04,7]b2,c"), "rack01b2");
  EXPECT_EQ(firstHost("r[1-2]n[3,5]"), "r1n3");
  EXPECT_EQ(firstHost("broken[1"), "broken1");
}

} // namespace
