// SPDX-License-Identifier: Apache-2.0
#include "lib/Tools/Tune/Search.h"
#include "lib/Support/Printable.h"
#include "lib/Tools/Models/Messages.h"
#include "lib/Tools/Models/Record.h"
#include "lib/Tools/Profile/Measure.h"
#include "lib/Tools/Profile/Roofline.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

namespace json = llvm::json;

namespace hewn::tool {

namespace {

/// Minimum share of the run time for which a kernel is searched. For kernels below it, the gain
/// would not be noticeable or measurable.
constexpr double kLeastShare = 0.002, kLeastMicroseconds = 2;
/// Minimum relative gain of a candidate; smaller differences count as noise.
constexpr double kLeastGain = 0.01;
/// Minimum and maximum time that a round spends with runs (compilation not included), in seconds.
constexpr double kShortestRuns = 0.5, kLongestRuns = 3;

/// Timeout of the first round, and minimum timeout of later rounds, in seconds.
constexpr double kHangs = 600, kShortestLimit = 60;

class Search {
public:
  Search(const TunedModel &model, const plan::Tuning &known, SearchPart part, double budget,
         llvm::function_ref<bool()> isStopped, llvm::raw_ostream &messages)
      : model(model), known(known), part(part), budget(budget), isStopped(isStopped), messages(messages) {}

  llvm::Expected<SearchResult> run() {
    if (llvm::Error error = begin())
      return error;
    while (hasTime() && round())
      ;
    result.interrupted |= isStopped();
    confirm();
    result.seconds = past();
    return std::move(result);
  }

private:
  using Clock = std::chrono::steady_clock;
  /// Kernels with the same key, and the candidate that a round measures for them.
  using Trial = std::pair<TunedKernels *, std::string>;

  const TunedModel &model;
  const plan::Tuning &known;
  const SearchPart part;
  double budget, longestRound = 0;
  Clock::time_point start = Clock::now();
  llvm::function_ref<bool()> isStopped;
  llvm::raw_ostream &messages;
  SearchResult result;
  llvm::StringSet<> told;

  double past() const { return std::chrono::duration<double>(Clock::now() - start).count(); }
  /// Returns true if there is time for another round and for the last round, which confirms the
  /// best candidates.
  bool hasTime() const { return !isStopped() && past() + 2 * longestRound < budget; }
  double roundSeconds() const { return std::clamp(budget / 30, kShortestRuns, kLongestRuns); }
  /// Prints those lines of the warnings that were not printed before, because each round repeats
  /// its warnings.
  void tell(llvm::StringRef said) {
    for (llvm::StringRef line : llvm::split(said.rtrim(), '\n'))
      if (!line.trim().empty() && told.insert(line).second)
        printMessage(messages, line);
  }
  void show(const llvm::Twine &step) { showProgress(messages, step); }
  void say(const llvm::Twine &text) {
    show("");
    messages << "hewn tune: " << text << "\n";
  }

  /// Returns the error of a failed round, or success if the round was only interrupted.
  llvm::Error errorOf(const RoundProblem &problem) {
    if (problem.stopped) {
      result.interrupted = true;
      return llvm::Error::success();
    }
    llvm::StringRef why = problem.why; // messages of the compiler, or how the process ended
    bool isComplete = why.starts_with("error: ") || why.contains("\nerror: ");
    return failure((isComplete ? "" : "nothing was measured: ") + why);
  }

  /// Collects the kernels that have several schedules and measures their times.
  llvm::Error begin() {
    RoundProblem problem;
    show("hewn: compiling the model and measuring its kernels ...");
    std::optional<json::Object> explained = survey(model, isStopped, problem);
    show("");
    if (!explained)
      return errorOf(problem);
    tell(problem.warnings);
    if (const json::Array *machines = explained->getArray("machines"); machines && !machines->empty())
      result.machine = machines->front().getAsString().value_or("").str();
    collect(*explained);
    if (result.kernels.empty())
      return llvm::Error::success();
    double before = past();
    std::optional<RoundTimes> times = measureRound(model, "", roundSeconds(), kHangs, isStopped, problem);
    if (!times)
      return errorOf(problem);
    tell(problem.warnings);
    longestRound = past() - before;
    weigh(*times);
    return llvm::Error::success();
  }

  void collect(const json::Object &explained) {
    std::map<std::string, TunedKernels> byKey;
    eachObject(explained, "variants", [&](const json::Object &variant) {
      llvm::StringRef condition = conditionOf(variant);
      eachObject(variant, "kernels", [&](const json::Object &kernel) {
        std::string key = textOf(kernel, "tuning_key").str();
        const json::Array *candidates = kernel.getArray("candidates");
        if (key.empty() || !candidates || candidates->size() < 2)
          return;
        TunedKernels &one = byKey[key];
        if (one.key.empty()) {
          one.key = key;
          one.model = textOf(kernel, "schedule").str();
          for (const json::Value &candidate : *candidates)
            if (std::string text = candidate.getAsString().value_or("").str(); text != one.model)
              one.candidates.push_back(text);
        }
        one.names.push_back(textOf(kernel, "name").str() + (condition.empty() ? "" : " [" + condition + "]").str());
      });
    });
    size_t number = 0, mine = 0;
    for (auto &[key, one] : byKey) {
      const plan::TuningRow *row = known.find(result.machine, key);
      if (row)
        goOn(one, *row);
      const size_t kernel = number++;
      if (size_t(one.tried.count()) > one.candidates.size()) {
        ++result.known;
        continue;
      }
      for (size_t place = 1; place <= one.candidates.size(); ++place)
        if (one.tried.has(int64_t(place)))
          continue;
        else if (part.has(kernel, place))
          one.places.push_back(place);
        else
          ++result.others;
      mine += one.places.size();
      if (!one.places.empty())
        result.kernels.push_back(std::move(one));
    }
    if (!part.isWhole())
      say(llvm::formatv("part {0}: {1} candidates of {2} distinct kernels, {3} in other parts", part.text(), mine,
                        result.kernels.size(), result.others));
  }

  /// Continues the search for the kernels `one` from the row of a tuning file that a previous
  /// search stored.
  static void goOn(TunedKernels &one, const plan::TuningRow &row) {
    one.tried = row.tried;
    if (row.model == one.model && llvm::is_contained(one.candidates, row.schedule) && row.ratio() < 1) {
      one.best = row.schedule;
      one.ratio = row.ratio();
    }
  }

  /// Returns the total time of all kernels that have the key of `one`. Kernels in several cases of
  /// the model share a name; their names in the trace are distinguished by their conditions.
  static RoundTimes::Pair timesOf(const RoundTimes &times, const TunedKernels &one) {
    RoundTimes::Pair sum;
    for (const auto &[traced, pair] : times.kernels)
      if (llvm::is_contained(one.names, traced)) {
        sum.base += pair.base;
        sum.other += pair.other;
      }
    return sum;
  }

  void weigh(const RoundTimes &times) {
    for (TunedKernels &one : result.kernels) {
      RoundTimes::Pair pair = timesOf(times, one);
      one.microseconds = one.modelMicroseconds = one.bestMicroseconds = std::min(pair.base, pair.other);
      one.share = times.run.base > 0 ? one.microseconds / times.run.base : 0;
      one.noise = one.microseconds > 0 ? std::abs(pair.base - pair.other) / one.microseconds : 0;
    }
    llvm::erase_if(result.kernels, [](const TunedKernels &one) {
      return one.share < kLeastShare || one.microseconds < kLeastMicroseconds;
    });
    llvm::stable_sort(result.kernels,
                      [](const TunedKernels &a, const TunedKernels &b) { return a.microseconds > b.microseconds; });
    double all = 0;
    for (const TunedKernels &one : result.kernels)
      all += one.share;
    say(llvm::formatv("{0} distinct kernels have several schedules, {1:f0} % of a run of {2:f3} ms",
                      result.kernels.size(), 100 * all, times.run.base / 1e3));
  }

  /// Returns the relative gain that a candidate needs to replace the default.
  static double margin(const TunedKernels &one) { return std::max(kLeastGain, 2 * one.noise); }

  /// Returns the text of a tuning file that has only the candidates of `trials`, for one
  /// compilation.
  std::string tuningOf(llvm::ArrayRef<Trial> trials) const {
    plan::Tuning tuning;
    for (const auto &[one, candidate] : trials) {
      plan::TuningRow row;
      row.machine = result.machine;
      row.kernel = one->key;
      row.schedule = candidate;
      row.model = one->model;
      row.microseconds = row.modelMicroseconds = 1;
      tuning.add(row);
    }
    return tuning.text();
  }

  /// Measures all trials in one round. If the round fails, bisects them to find the candidate that
  /// cannot be compiled or run, which is reported and skipped. `stop` returns true to kill the
  /// round, `mayHalve` returns true if there is time for another round.
  void measure(llvm::ArrayRef<Trial> trials, llvm::function_ref<bool()> stop, llvm::function_ref<bool()> mayHalve,
               llvm::function_ref<void(llvm::ArrayRef<Trial>, const RoundTimes &)> take) {
    if (trials.empty() || stop())
      return;
    RoundProblem problem;
    // The time limit of a round depends on the longest round before it. Rounds that were killed do
    // not count.
    double before = past(), limit = std::max(kShortestLimit, 10 * longestRound);
    show(llvm::formatv("hewn: compiling and measuring {0} candidates, {1:f0} s of {2:f0} s ...", trials.size(), before,
                       budget));
    std::optional<RoundTimes> times = measureRound(model, tuningOf(trials), roundSeconds(), limit, stop, problem);
    show("");
    if (times) {
      longestRound = std::max(longestRound, past() - before);
      tell(problem.warnings);
      return take(trials, *times);
    }
    if (problem.stopped)
      return;
    if (trials.size() == 1) {
      say(trials.front().second + " of " + trials.front().first->key + " is skipped: " + printable(problem.why));
      return take(trials, {});
    }
    if (!mayHalve())
      return say(llvm::Twine(trials.size()) +
                 " candidates are skipped, no time is left to find the one that fails: " + printable(problem.why));
    size_t half = trials.size() / 2;
    for (llvm::ArrayRef<Trial> some : {trials.take_front(half), trials.drop_front(half)})
      if (mayHalve())
        measure(some, stop, mayHalve, take);
  }

  /// Measures the next candidate of each kernel. Returns false if there is none.
  bool round() {
    std::vector<Trial> trials;
    for (TunedKernels &one : result.kernels)
      if (one.searched < one.places.size())
        trials.push_back({&one, one.candidates[one.places[one.searched] - 1]});
    if (trials.empty())
      return false;
    int64_t tried = 0, faster = 0;
    measure(
        trials, isStopped, [&] { return hasTime(); },
        [&](llvm::ArrayRef<Trial> measured, const RoundTimes &times) {
          for (const auto &[one, candidate] : measured) {
            // Counts the candidate as tried even if it failed and was skipped.
            one->tried.add(int64_t(one->places[one->searched++]));
            ++tried;
            RoundTimes::Pair pair = timesOf(times, *one);
            if (pair.base == 0)
              continue;
            double ratio = pair.other / pair.base;
            if (ratio >= std::min(one->ratio, 1 - margin(*one)))
              continue;
            one->ratio = ratio;
            one->best = candidate;
            ++faster;
          }
        });
    // No candidate was measured: Ctrl-C, or no time was left to bisect a failed round.
    if (tried == 0)
      return false;
    ++result.rounds;
    say(llvm::formatv("round {0}: {1} candidates, {2} faster than the best so far ({3:f0} s of {4:f0} s)",
                      result.rounds, tried, faster, past(), budget));
    return true;
  }

  /// Measures the best candidate of each kernel again, because the fastest of many candidates may
  /// be the fastest by chance.
  void confirm() {
    std::vector<Trial> trials;
    for (TunedKernels &one : result.kernels)
      if (!one.best.empty() && one.searched > 0)
        trials.push_back({&one, one.best});
    for (TunedKernels &one : result.kernels)
      one.best.clear();
    // The last round, which confirms the best candidates, cannot be stopped. The time for bisecting
    // a failed round is limited, because each round that hangs takes the full timeout.
    measure(
        trials, [] { return false; }, [&] { return past() < budget + kShortestLimit; },
        [&](llvm::ArrayRef<Trial> measured, const RoundTimes &times) {
          // A round that was bisected has no run with all best candidates.
          if (measured.size() == trials.size())
            result.run = times.run;
          for (const auto &[one, candidate] : measured) {
            RoundTimes::Pair pair = timesOf(times, *one);
            if (pair.base == 0 || pair.other / pair.base >= 1 - margin(*one))
              continue;
            one->best = candidate;
            one->bestMicroseconds = pair.other;
            one->modelMicroseconds = pair.base;
          }
        });
  }
};

} // namespace

llvm::Expected<SearchResult> searchSchedules(const TunedModel &model, const plan::Tuning &known, SearchPart part,
                                             double budget, llvm::function_ref<bool()> stop,
                                             llvm::raw_ostream &messages) {
  return Search(model, known, part, budget, stop, messages).run();
}

} // namespace hewn::tool
