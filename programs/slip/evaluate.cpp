#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "optimized/base/files.hpp"
#include "programs/slip/choices.hpp"
#include "programs/slip/command.hpp"
#include "programs/slip/images.hpp"
#include "programs/slip/model.hpp"
#include "programs/slip/options.hpp"
#include "programs/slip/progress.hpp"
#include "slip/error.hpp"
#include "slip/evaluate.hpp"

namespace slip::tool {
namespace {

Windows windows_of(const Options& options, const LanguageModel& model) {
    Windows windows;
    const std::size_t context = model.max_positions();
    windows.length = options.number_or("window", context, 1, context);
    windows.stride = options.number_or("stride", windows.length, 1, windows.length);
    return windows;
}

int evaluate_text(const Options& options) {
    const std::string path = options.required("text");
    const std::size_t most = options.number_or("max-tokens", SIZE_MAX, 1);
    const std::string text = base::read_file(path);
    auto model = open_model<LanguageModel>(options);
    const Windows windows = windows_of(options, model);
    require_tokenizer(model, "--text");
    std::vector<TokenId> ids = model.encode(text);
    if (ids.empty()) throw BadInput(path + ": the text has no token");
    std::size_t bytes = text.size();
    if (most < ids.size()) {
        ids.resize(most);
        bytes = model.decode(ids).size();
    }

    PerplexityResult result;
    {
        Progress progress("slip eval: tokens");
        result = perplexity(model, ids, windows,
                            [&](std::uint64_t done) { progress.update(done, ids.size()); });
    }
    const double bits_per_byte = result.nll / std::log(2.0) / static_cast<double>(bytes);
    if (options.has("json")) {
        const nlohmann::ordered_json json{{"tokens", result.tokens},
                                          {"nll", result.nll},
                                          {"perplexity", result.perplexity()},
                                          {"bits_per_byte", bits_per_byte}};
        std::cout << json.dump() << '\n';
    } else {
        std::cout << "tokens         " << result.tokens << "\nperplexity     "
                  << result.perplexity() << "\nbits per byte  " << bits_per_byte << '\n';
    }
    return 0;
}

/// The first of the largest.
std::size_t best_of(const std::vector<double>& scores) {
    return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) -
                                    scores.begin());
}

struct ChoicesResult {
    std::size_t correct = 0;
    std::size_t correct_per_byte = 0;
    std::vector<std::size_t> choices;

    double share(std::size_t count) const {
        return static_cast<double>(count) / static_cast<double>(choices.size());
    }
};

void answer(const Question& question, LanguageModel& model, ChoicesResult& result) {
    std::vector<double> scores = log_likelihoods(model, question.context, question.endings);
    result.choices.push_back(best_of(scores));
    result.correct += result.choices.back() == question.answer ? 1U : 0U;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        scores[i] /= static_cast<double>(question.endings[i].size());
    }
    result.correct_per_byte += best_of(scores) == question.answer ? 1U : 0U;
}

int evaluate_choices(const Options& options) {
    std::vector<Question> questions = read_questions(options.required("choices"));
    const std::size_t most = options.number_or("limit", SIZE_MAX, 1);
    if (most < questions.size()) questions.resize(most);
    auto model = open_model<LanguageModel>(options);
    require_tokenizer(model, "--choices");
    ChoicesResult result;
    {
        Progress progress("slip eval: questions");
        for (const Question& question : questions) {
            answer(question, model, result);
            progress.update(result.choices.size(), questions.size());
        }
    }
    if (options.has("json")) {
        const nlohmann::ordered_json json{{"items", result.choices.size()},
                                          {"correct", result.correct},
                                          {"accuracy", result.share(result.correct)},
                                          {"accuracy_norm", result.share(result.correct_per_byte)},
                                          {"choices", result.choices}};
        std::cout << json.dump() << '\n';
    } else {
        std::cout << "questions            " << result.choices.size() << "\naccuracy             "
                  << result.share(result.correct) << "\naccuracy, a byte     "
                  << result.share(result.correct_per_byte) << '\n';
    }
    return 0;
}

}  // namespace

int evaluate(const Arguments& arguments) {
    Options options(
        std::string("eval ") + model_usage +
            "\n            (--text FILE | --choices FILE | --images FILE --labels FILE) [--json]",
        "Measures a text's perplexity, the share of multiple-choice questions whose "
        "right ending is the likeliest (MODEL-12), or the share of images that a "
        "convolutional network classifies right\n(CNN-6).");
    options.example("slip eval --model models/tinystories-llama --text stories.txt");
    add_model_flags(options);
    options.group("What is measured");
    options.add("text", "FILE", "UTF-8 text");
    options.add("max-tokens", "N", "with --text: only the first N tokens");
    options.add("window", "N", "with --text: tokens seen at once (default: the model's context)");
    options.add("stride", "S",
                "with --text: tokens that a window scores (default: the window, so that windows "
                "do not overlap)");
    options.add("choices", "FILE",
                "questions: six lines each as in HellaSwag, or one JSON object per line as in ARC");
    options.add("images", "FILE", "IDX file of images of bytes, used as numbers from 0 to 255");
    options.add("labels", "FILE", "with --images: IDX file of their classes");
    options.add("limit", "N", "with --choices or --images: only the first N");
    options.add_switch("logits", "with --images and --json: every image's logits too");
    options.add_switch("json",
                       "print {\"tokens\", \"nll\", \"perplexity\", \"bits_per_byte\"}, nll the "
                       "sum in nats; or {\"items\", \"correct\", \"accuracy\", "
                       "\"accuracy_norm\", \"choices\"}; or {\"images\", \"correct\", "
                       "\"accuracy\", \"classes\"}, the class that is chosen for each image");
    if (!options.parse(arguments)) return 0;
    if (options.has("images")) {
        for (const char* name : {"text", "choices", "max-tokens", "window", "stride"}) {
            options.forbid(name, "beside --images");
        }
        return evaluate_images(options);
    }
    for (const char* name : {"labels", "logits"}) options.forbid(name, "without --images");
    if (options.has("choices")) {
        for (const char* name : {"text", "max-tokens", "window", "stride"}) {
            options.forbid(name, "beside --choices");
        }
        return evaluate_choices(options);
    }
    options.forbid("limit", "without --choices or --images");
    return evaluate_text(options);
}

}  // namespace slip::tool
