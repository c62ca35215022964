// p3d-plot: logs of p3d-run as a picture, drawn by gnuplot.
#include "runtime/Data/WholeFile.h"
#include "runtime/tools/FileArguments.h"
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

using namespace p3d;

static const char usage[] = "p3d-plot LOG.jsonl... -o LOSS.svg";

// not messages: what --help says
static const std::string help = fmt::format("usage: {}\n\n"
                                            "Draws loss (with evaluations), norm of the gradient and tokens/s over the steps of each log of\n"
                                            "p3d-run --log. By the name of the output: .svg or .png. gnuplot does the drawing.\n",
                                            usage);

namespace {
using Points = std::vector<std::pair<int64_t, double>>;

/// What one log says of each step.
struct Log {
  std::string name;
  std::map<std::string, Points> series; ///< by the field
};

/// A panel of the picture, and the field that it shows.
struct Panel {
  const char *field, *title;
  bool isLogarithmic;
};
// not messages: titles
constexpr Panel panels[] = {{"loss", "loss", false}, {"grad_norm", "norm of the gradient", true}, {"tokens_per_s", "tokens/s", false}};
constexpr const char *evaluationField = "eval_loss";
} // namespace

static Log readLog(const std::string &path) {
  std::ifstream file(path);
  if (!file)
    userError("{}: cannot be opened: {}", path, std::strerror(errno));
  Log log{path, {}};
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    nlohmann::json entry = nlohmann::json::parse(line, nullptr, false);
    // The last line may be cut short: a log is read while it grows.
    if (!entry.is_object() && file.peek() == EOF)
      break;
    if (!entry.is_object() || !entry.contains("step") || !entry["step"].is_number_integer())
      userError("{}:{}: expected an object with a \"step\", as p3d-run --log writes it", path, number);
    for (const auto &[field, value] : entry.items())
      if (value.is_number() && std::isfinite(value.get<double>()))
        log.series[field].emplace_back(entry["step"].get<int64_t>(), value.get<double>());
  }
  if (log.series["loss"].empty())
    userError("{}: holds no step with a loss", path);
  return log;
}

/// Quoted for gnuplot.
static std::string inQuotes(const std::string &text) {
  std::string out = "'";
  for (char c : text)
    out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}

static void addData(std::string &script, const std::string &name, const Points &points) {
  script += fmt::format("${} << EOD\n", name);
  for (auto [step, value] : points)
    script += fmt::format("{} {:.9g}\n", step, value);
  script += "EOD\n";
}

/// The script of one picture.
// not messages: what gnuplot reads
static std::string draw(std::vector<Log> &logs, const std::string &output, bool isSvg) {
  std::string script = fmt::format("set terminal {} size 900,900\nset output {}\n", isSvg ? "svg dynamic background rgb 'white'" : "pngcairo", inQuotes(output));
  for (size_t i = 0; i < logs.size(); ++i)
    for (const char *field : {panels[0].field, evaluationField, panels[1].field, panels[2].field})
      if (auto points = logs[i].series.find(field); points != logs[i].series.end())
        addData(script, fmt::format("d{}_{}", i, field), points->second);
  script += "set multiplot layout 3,1\nset grid\nset xlabel 'step' offset 0,0.5\nset key noenhanced\n";
  for (const Panel &panel : panels) {
    std::vector<std::string> lines;
    for (size_t i = 0; i < logs.size(); ++i) {
      if (logs[i].series.count(panel.field))
        lines.push_back(fmt::format("$d{}_{} with lines linewidth 1.5 linetype {} title {}", i, panel.field, i + 1, inQuotes(logs[i].name)));
      if (panel.field == panels[0].field && logs[i].series.count(evaluationField))
        lines.push_back(fmt::format("$d{}_{} with linespoints pointtype 7 dashtype 2 linetype {} title {}", i, evaluationField, i + 1, inQuotes(logs[i].name + ", evaluation")));
    }
    if (lines.empty())
      continue;
    script += fmt::format("set title '{}'\n{} logscale y\nplot {}\n", panel.title, panel.isLogarithmic ? "set" : "unset", fmt::join(lines, ", ")) + "unset key\n"; // one legend is for all
  }
  return script + "unset multiplot\n";
}

static bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

static int run(int argc, char **argv) {
  FileArguments arguments = readFileArguments(argc, argv, {}, usage);
  const std::string &output = arguments.output;
  if (!endsWith(output, ".svg") && !endsWith(output, ".png"))
    userError("{}: expected a name that ends in .svg or .png", output);
  std::vector<Log> logs;
  for (const std::string &path : arguments.inputs)
    logs.push_back(readLog(path));
  writeWhole(output, ""); // what cannot be written shows now
  // not messages: a command
  std::FILE *gnuplot = popen("exec gnuplot -", "w");
  std::string script = draw(logs, output, endsWith(output, ".svg"));
  bool isWritten = gnuplot && std::fwrite(script.data(), 1, script.size(), gnuplot) == script.size();
  int status = gnuplot ? pclose(gnuplot) : -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    userError("gnuplot is not installed; apt-get install gnuplot-nox");
  // unreachable from input: gnuplot has told what is wrong
  if (!isWritten || status != 0)
    userError("gnuplot could not draw {}", output);
  fmt::print("{}: {} log{}\n", output, logs.size(), logs.size() == 1 ? "" : "s");
  return 0;
}

int main(int argc, char **argv) {
  std::signal(SIGPIPE, SIG_IGN);
  return runTool("p3d-plot", argc, argv, help, [&] { return run(argc, argv); });
}
