// tasks --task NAME --model DIR|FILE [--engine NAME --rank K]
//
// Measures how well a model does on a task and prints one JSON object.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/measure/model_label.hpp"
#include "experiments/measure/program.hpp"
#include "experiments/measure/temporary_folder.hpp"
#include "experiments/tasks/accuracy.hpp"
#include "experiments/tasks/choices.hpp"
#include "experiments/tasks/cloze.hpp"
#include "experiments/tasks/images.hpp"
#include "experiments/tasks/share.hpp"
#include "experiments/tasks/sorting.hpp"
#include "optimized/base/files.hpp"
#include "optimized/import/checkpoint.hpp"
#include "slip/charlie.hpp"
#include "slip/error.hpp"
#include "slip/split.hpp"

namespace slip::tasks {
namespace {

using measure::Flags;
using nlohmann::ordered_json;

constexpr std::size_t default_cloze_items = 500;

/// How a model is opened: the checkpoint itself, or a split of it that lasts as long as this.
class Source {
public:
    explicit Source(const Flags& flags)
        : model_(flags.text("model")), engine_(flags.text("engine")) {
        if (engine_ == "float") {
            for (const char* name : {"rank", "plan", "blocks", "strategy"}) {
                if (flags.has(name)) {
                    throw BadInput(std::string("--") + name +
                                   " has no meaning with --engine float, which splits nothing");
                }
            }
            return;
        }
        if (engine_ != "unsplit" && engine_ != "hybrid" && engine_ != "share") {
            throw BadInput("--engine '" + engine_ + "': expected float, unsplit, hybrid or share");
        }
        split(flags);
    }

    template <class Kind>
    Kind open() const {
        if (engine_ == "float") return open_checkpoint<Kind>(model_);
        if (engine_ == "unsplit") return open_unsplit<Kind>(artifact());
        if (engine_ == "share") return open_share<Kind>(artifact());
        return open_charlie_in_process<Kind>(artifact());
    }

    /// What identifies the model that ran.
    const ordered_json& settings() const { return settings_; }

private:
    std::filesystem::path artifact() const { return folder_->path() / "split"; }

    void split(const Flags& flags) {
        SplitOptions options;
        options.set = "paper";  // the split that is measured
        if (flags.has("plan") == flags.has("rank")) {
            throw BadInput("--engine " + engine_ + ": expected either --rank or --plan");
        }
        if (flags.has("plan")) {
            const std::string plan = flags.text("plan");
            options.plan = read_plan(plan);
            settings_["plan"] = std::filesystem::path(plan).filename().string();
        } else {
            const std::uint64_t rank = flags.number("rank", 0);
            std::optional<std::size_t> blocks;
            if (flags.has("blocks")) blocks = flags.number("blocks", 1);
            options.plan = uniform_plan(model_, rank, blocks);
            settings_["rank"] = rank;
            if (blocks) settings_["blocks"] = *blocks;
        }
        const std::string strategy = flags.text_or("strategy", "lsc");
        const std::optional<Strategy> named = strategy_named(strategy);
        if (!named) {
            throw BadInput("--strategy '" + strategy + "': expected lsc, rcs, norm, random or fms");
        }
        options.strategy = *named;
        settings_["strategy"] = strategy;
        if (*named == Strategy::rcs || *named == Strategy::random) {
            options.seed = selection_seed(flags.number_or("seed", 1, 0));
        }
        folder_.emplace();
        options.out = artifact();
        for (const std::string& note : split_checkpoint(model_, options)) {
            std::cerr << "tasks: note: " << note << '\n';
        }
    }

    /// The run's seed in the first bytes: one choice per seed of a run.
    static SelectionSeed selection_seed(std::uint64_t seed) {
        SelectionSeed bytes{};
        for (std::size_t i = 0; i < sizeof seed; ++i) {
            bytes[i] = static_cast<std::uint8_t>(seed >> (8 * i));
        }
        return bytes;
    }

    std::filesystem::path model_;
    std::string engine_;
    ordered_json settings_ = ordered_json::object();
    std::optional<measure::TemporaryFolder> folder_;
};

ordered_json as_json(const Accuracy& accuracy) {
    const Interval interval = wilson_interval(accuracy);
    return {{"items", accuracy.items},
            {"correct", accuracy.correct},
            {"accuracy", accuracy.value()},
            {"interval", {interval.low, interval.high}}};
}

/// What a task found, and the settings that are its own.
struct Found {
    ordered_json result;
    ordered_json settings;
};

std::vector<Question> questions_of(const Flags& flags, const std::string& task,
                                   ordered_json& settings) {
    if (task == "cloze") {
        const std::string text = flags.text("text");
        const std::uint64_t items = flags.number_or("items", default_cloze_items, 1);
        const std::uint64_t draw = flags.number_or("draw", 1, 0);
        settings = {{"text", std::filesystem::path(text).filename().string()}, {"draw", draw}};
        const std::string stories = base::read_file(text);
        try {
            return story_cloze(stories, items, draw);
        } catch (const BadInput& error) {
            throw BadInput(text + ": " + error.what());
        }
    }
    const std::string file = flags.text("questions");
    settings = {{"questions", std::filesystem::path(file).filename().string()}};
    std::vector<Question> questions = tool::read_questions(file);
    questions.resize(
        std::min<std::size_t>(questions.size(), flags.number_or("items", questions.size(), 1)));
    return questions;
}

Found choose(const Flags& flags, const std::string& task, const Source& source) {
    Found found;
    const std::vector<Question> questions = questions_of(flags, task, found.settings);
    auto model = source.open<LanguageModel>();
    if (!model.has_tokenizer()) {
        throw BadInput(flags.text("model") + ": has no tokenizer, which --task " + task + " needs");
    }
    const ChoicesResult result = answer(model, questions, [&](std::size_t done) {
        if (done % 50 == 0) {
            std::cerr << "tasks: " << done << " of " << questions.size() << " questions\n";
        }
    });
    found.result = as_json(result.per_byte);
    found.result["chance"] = result.chance;
    found.result["score"] = "log-likelihood per byte of the ending";
    found.result["by_sum"] = as_json(result.sum);
    return found;
}

Found sort_letters(const Source& source) {
    auto model = source.open<LanguageModel>();
    Found found{as_json(sort_all(model)), ordered_json::object()};
    found.result["chance"] = 1.0 / 729;  // six letters of three
    found.result["score"] = "all six letters in order";
    return found;
}

Found recognise(const Flags& flags, const Source& source) {
    const LabelledImages given = read_images(flags.text("images"), flags.text("labels"));
    const std::size_t count =
        std::min<std::size_t>(flags.number_or("items", given.images.count, 1), given.images.count);
    auto model = source.open<ImageClassifier>();
    Found found{as_json(classify(model, given, count)), ordered_json::object()};
    found.result["chance"] = 1 / static_cast<double>(model.class_count());
    found.result["score"] = "the class of the largest logit";
    return found;
}

Found measure_task(const Flags& flags, const std::string& task, const Source& source) {
    if (task == "sorting") return sort_letters(source);
    if (task == "mnist") return recognise(flags, source);
    return choose(flags, task, source);
}

void require_task(const std::string& task) {
    for (const char* known : {"cloze", "hellaswag", "arc-easy", "sorting", "mnist"}) {
        if (task == known) return;
    }
    throw BadInput("--task '" + task + "': expected cloze, hellaswag, arc-easy, sorting or mnist");
}

ordered_json measure_checkpoint(const Flags& flags) {
    const std::string task = flags.text("task");
    require_task(task);
    ordered_json settings{{"task", task}, {"engine", flags.text("engine")}};
    if (flags.has("label")) settings["label"] = flags.text("label");
    ordered_json model = measure::label_of(importing::Checkpoint(flags.text("model")));
    if (flags.has("name")) model["name"] = flags.text("name");
    const Source source(flags);
    const Found found = measure_task(flags, task, source);
    settings.update(source.settings());
    settings.update(found.settings);
    return {{"experiment", "tasks"},
            {"model", model},
            {"settings", settings},
            {"seed", flags.number_or("seed", 1, 0)},
            {"result", found.result}};
}

}  // namespace
}  // namespace slip::tasks

int main(int argc, char** argv) {
    return slip::measure::run(
        {"tasks",
         "--task NAME --model DIR [OPTIONS]\n\n"
         "Measures how well a model does on a task; prints one JSON object, with Wilson's "
         "intervals at 95 %.",
         {{"task", "NAME", "cloze, hellaswag, arc-easy, sorting or mnist"},
          {"model", "DIR",
           "Hugging Face checkpoint or ONNX file; also one that is a share or restored"},
          {"engine", "NAME",
           "float: the checkpoint as it is; unsplit, hybrid: the integer model without and with "
           "the protocol, in this process; share: David's part alone, everything else known",
           "float"},
          {"rank", "K", "of every linear layer of the blocks, but for --engine float"},
          {"blocks", "A", "with --rank: only the first and last A blocks"},
          {"plan", "FILE", "instead of --rank: what 'slip split --plan' takes"},
          {"strategy", "NAME", "lsc (default), rcs, norm, random or fms"},
          {"text", "FILE", "cloze: stories, separated by empty lines"},
          {"questions", "FILE", "hellaswag, arc-easy: what 'slip eval --choices' takes"},
          {"images", "FILE", "mnist: IDX file"},
          {"labels", "FILE", "mnist: IDX file"},
          {"items", "N", "only so many items (cloze: 500)"},
          {"draw", "S", "cloze: the seed of the questions (default 1)"},
          {"seed", "S", "of what a strategy chooses at random; of the run that made the model"},
          {"name", "TEXT", "the model's name in the result (default: that of its folder)"},
          {"label", "TEXT", "what the checkpoint is, such as share or restored, for the result"}},
         slip::tasks::measure_checkpoint},
        argc, argv);
}
