// tasks --task NAME --model DIR|FILE [--engine NAME --rank K]
//
// Measures how well a model does on a task and prints one JSON object.
#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/tasks/accuracy.hpp"
#include "experiments/tasks/choices.hpp"
#include "experiments/tasks/cloze.hpp"
#include "experiments/tasks/images.hpp"
#include "experiments/tasks/model_label.hpp"
#include "experiments/tasks/program.hpp"
#include "experiments/tasks/share.hpp"
#include "experiments/tasks/sorting.hpp"
#include "optimized/base/files.hpp"
#include "optimized/import/checkpoint.hpp"
#include "property_tests/generators/temporary_folder.hpp"
#include "slip/charlie.hpp"
#include "slip/error.hpp"
#include "slip/split.hpp"

namespace slip::tasks {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t default_cloze_items = 500;

std::string required(const po::variables_map& values, const std::string& name) {
    if (!values.contains(name)) throw BadInput("--" + name + " is missing; see --help");
    return values[name].as<std::string>();
}

std::uint64_t number_or(const po::variables_map& values, const std::string& name,
                        std::uint64_t otherwise, std::uint64_t least) {
    if (!values.contains(name)) return otherwise;
    const auto text = values[name].as<std::string>();
    std::uint64_t number = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || stop != text.data() + text.size() || number < least) {
        throw BadInput("--" + name + " '" + text + "': expected a whole number from " +
                       std::to_string(least) + " on");
    }
    return number;
}

/// How a model is opened: the checkpoint itself, or a split of it that lasts as long as this.
class Source {
public:
    explicit Source(const po::variables_map& values)
        : model_(required(values, "model")), engine_(values["engine"].as<std::string>()) {
        if (engine_ == "float") {
            for (const char* name : {"rank", "plan", "blocks", "strategy"}) {
                if (values.contains(name)) {
                    throw BadInput(std::string("--") + name +
                                   " has no meaning with --engine float, which splits nothing");
                }
            }
            return;
        }
        if (engine_ != "unsplit" && engine_ != "hybrid" && engine_ != "share") {
            throw BadInput("--engine '" + engine_ + "': expected float, unsplit, hybrid or share");
        }
        split(values);
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

    void split(const po::variables_map& values) {
        SplitOptions options;
        options.set = "paper";  // the split that is measured
        if (values.contains("plan") == values.contains("rank")) {
            throw BadInput("--engine " + engine_ + ": expected either --rank or --plan");
        }
        if (values.contains("plan")) {
            const std::string plan = required(values, "plan");
            options.plan = read_plan(plan);
            settings_["plan"] = std::filesystem::path(plan).filename().string();
        } else {
            const std::uint64_t rank = number_or(values, "rank", 0, 0);
            std::optional<std::size_t> blocks;
            if (values.contains("blocks")) blocks = number_or(values, "blocks", 0, 1);
            options.plan = uniform_plan(model_, rank, blocks);
            settings_["rank"] = rank;
            if (blocks) settings_["blocks"] = *blocks;
        }
        const std::string strategy =
            values.contains("strategy") ? values["strategy"].as<std::string>() : "lsc";
        const std::optional<Strategy> named = strategy_named(strategy);
        if (!named) {
            throw BadInput("--strategy '" + strategy + "': expected lsc, rcs, norm, random or fms");
        }
        options.strategy = *named;
        settings_["strategy"] = strategy;
        if (*named == Strategy::rcs || *named == Strategy::random) {
            options.seed = selection_seed(number_or(values, "seed", 1, 0));
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
    std::optional<testing::TemporaryFolder> folder_;
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

std::vector<Question> questions_of(const po::variables_map& values, const std::string& task,
                                   ordered_json& settings) {
    if (task == "cloze") {
        const std::string text = required(values, "text");
        const std::uint64_t items = number_or(values, "items", default_cloze_items, 1);
        const std::uint64_t draw = number_or(values, "draw", 1, 0);
        settings = {{"text", std::filesystem::path(text).filename().string()}, {"draw", draw}};
        const std::string stories = base::read_file(text);
        try {
            return story_cloze(stories, items, draw);
        } catch (const BadInput& error) {
            throw BadInput(text + ": " + error.what());
        }
    }
    const std::string file = required(values, "questions");
    settings = {{"questions", std::filesystem::path(file).filename().string()}};
    std::vector<Question> questions = tool::read_questions(file);
    questions.resize(
        std::min<std::size_t>(questions.size(), number_or(values, "items", questions.size(), 1)));
    return questions;
}

Found choose(const po::variables_map& values, const std::string& task, const Source& source) {
    Found found;
    const std::vector<Question> questions = questions_of(values, task, found.settings);
    auto model = source.open<LanguageModel>();
    if (!model.has_tokenizer()) {
        throw BadInput(required(values, "model") + ": has no tokenizer, which --task " + task +
                       " needs");
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

Found recognise(const po::variables_map& values, const Source& source) {
    const LabelledImages given =
        read_images(required(values, "images"), required(values, "labels"));
    const std::size_t count = std::min<std::size_t>(
        number_or(values, "items", given.images.count, 1), given.images.count);
    auto model = source.open<ImageClassifier>();
    Found found{as_json(classify(model, given, count)), ordered_json::object()};
    found.result["chance"] = 1 / static_cast<double>(model.class_count());
    found.result["score"] = "the class of the largest logit";
    return found;
}

Found measure_task(const po::variables_map& values, const std::string& task, const Source& source) {
    if (task == "sorting") return sort_letters(source);
    if (task == "mnist") return recognise(values, source);
    return choose(values, task, source);
}

ordered_json describe(std::filesystem::path path) {
    const importing::Checkpoint checkpoint(path);
    if (path.filename().empty()) path = path.parent_path();
    std::string family = "cnn";
    if (checkpoint.network() == nullptr) {
        family = ordered_json::parse(checkpoint.config_text())["model_type"];
    }
    return {{"name", (checkpoint.network() ? path.stem() : path.filename()).string()},
            {"family", family},
            {"parameters", parameters_of(checkpoint)}};
}

void require_task(const std::string& task) {
    for (const char* known : {"cloze", "hellaswag", "arc-easy", "sorting", "mnist"}) {
        if (task == known) return;
    }
    throw BadInput("--task '" + task + "': expected cloze, hellaswag, arc-easy, sorting or mnist");
}

ordered_json measure(const po::variables_map& values) {
    const std::string task = required(values, "task");
    require_task(task);
    ordered_json settings{{"task", task}, {"engine", values["engine"].as<std::string>()}};
    if (values.contains("label")) settings["label"] = values["label"].as<std::string>();
    ordered_json model = describe(required(values, "model"));
    if (values.contains("name")) model["name"] = values["name"].as<std::string>();
    const Source source(values);
    const Found found = measure_task(values, task, source);
    settings.update(source.settings());
    settings.update(found.settings);
    return {{"experiment", "tasks"},
            {"model", model},
            {"settings", settings},
            {"seed", number_or(values, "seed", 1, 0)},
            {"result", found.result}};
}

po::options_description flags() {
    po::options_description description("Options", 100, 60);
    const auto text = [] { return po::value<std::string>(); };
    const auto add = [&](const char* name, const char* value, const char* help) {
        description.add_options()(name, text()->value_name(value), help);
    };
    add("task", "NAME", "cloze, hellaswag, arc-easy, sorting or mnist");
    add("model", "DIR",
        "Hugging Face checkpoint or ONNX file; also one that is a share or restored");
    description.add_options()(
        "engine", text()->value_name("NAME")->default_value("float"),
        "float: the checkpoint as it is; unsplit, hybrid: the integer model without and with the "
        "protocol, in this process; share: David's part alone, everything else known");
    add("rank", "K", "of every linear layer of the blocks, but for --engine float");
    add("blocks", "A", "with --rank: only the first and last A blocks");
    add("plan", "FILE", "instead of --rank: what 'slip split --plan' takes");
    add("strategy", "NAME", "lsc (default), rcs, norm, random or fms");
    add("text", "FILE", "cloze: stories, separated by empty lines");
    add("questions", "FILE", "hellaswag, arc-easy: what 'slip eval --choices' takes");
    add("images", "FILE", "mnist: IDX file");
    add("labels", "FILE", "mnist: IDX file");
    add("items", "N", "only so many items (cloze: 500)");
    add("draw", "S", "cloze: the seed of the questions (default 1)");
    add("seed", "S", "of what a strategy chooses at random; of the run that made the model");
    add("name", "TEXT", "the model's name in the result (default: that of its folder)");
    add("label", "TEXT", "what the checkpoint is, such as share or restored, for the result");
    description.add_options()("help", "show this help");
    return description;
}

}  // namespace
}  // namespace slip::tasks

int main(int argc, char** argv) {
    return slip::tasks::run({"tasks",
                             "--task NAME --model DIR [OPTIONS]\n\n"
                             "Measures how well a model does on a task; prints one JSON object, "
                             "with Wilson's intervals "
                             "at 95 %.",
                             slip::tasks::flags(), slip::tasks::measure},
                            argc, argv);
}
