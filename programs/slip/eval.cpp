#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "optimized/artifact/sha256.hpp"
#include "optimized/base/files.hpp"
#include "programs/common/choices.hpp"
#include "programs/slip/command.hpp"
#include "programs/slip/support/evaluation_parts.hpp"
#include "programs/slip/support/images.hpp"
#include "programs/slip/support/model.hpp"
#include "programs/slip/support/options.hpp"
#include "programs/slip/support/progress.hpp"
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

std::string digest_of_text(const std::string& text) {
    return artifact::to_hex(artifact::sha256(std::as_bytes(std::span(text))));
}

/// A flag's number, for the request of parts; null where it was not given.
nlohmann::json given(const Options& options, const char* name) {
    return options.has(name) ? nlohmann::json(options.number(name, 1)) : nlohmann::json();
}

/// The loss of each window; in common, the text's tokens and bytes.
Measured measure_text(const Options& options, const std::string& text,
                      const std::optional<Part>& part) {
    auto model = open_model<LanguageModel>(options);
    const Windows windows = windows_of(options, model);
    require_tokenizer(model, "--text");
    std::vector<TokenId> ids = model.encode(text);
    if (ids.empty()) throw BadInput(options.required("text") + ": the text has no token");
    std::size_t bytes = text.size();
    const std::size_t most = options.number_or("max-tokens", SIZE_MAX, 1);
    if (most < ids.size()) {
        ids.resize(most);
        bytes = model.decode(ids).size();
    }
    const std::size_t total = window_count(ids.size(), windows);
    const auto [first, end] = items_of(part, total);
    Progress progress("slip eval: windows");
    const std::vector<double> losses =
        window_losses(model, ids, windows, {first, end},
                      [&](std::size_t done) { progress.update(done, end - first); });
    return {{{"tokens", ids.size()}, {"bytes", bytes}}, total, losses};
}

int evaluate_text(const Options& options) {
    const std::string text = base::read_file(options.required("text"));
    const nlohmann::json request{{"text", digest_of_text(text)},
                                 {"max-tokens", given(options, "max-tokens")},
                                 {"window", given(options, "window")},
                                 {"stride", given(options, "stride")}};
    const auto measured = measured_in_parts(options, request, [&](const std::optional<Part>& part) {
        return measure_text(options, text, part);
    });
    if (!measured) return 0;
    PerplexityResult result{measured->common.at("tokens"), 0};
    for (const auto& loss : measured->values) result.nll += loss.get<double>();
    const double bits_per_byte =
        result.nll / std::log(2.0) / measured->common.at("bytes").get<double>();
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

/// The likeliest ending, and the likeliest for its length.
struct Answer {
    std::size_t choice = 0;
    std::size_t per_byte = 0;
};

Answer answer(const Question& question, LanguageModel& model) {
    std::vector<double> scores = log_likelihoods(model, question.context, question.endings);
    Answer found{best_of(scores), 0};
    for (std::size_t i = 0; i < scores.size(); ++i) {
        scores[i] /= static_cast<double>(question.endings[i].size());
    }
    found.per_byte = best_of(scores);
    return found;
}

/// An object for each question.
Measured measure_choices(const Options& options, const std::vector<Question>& questions,
                         const std::optional<Part>& part) {
    auto model = open_model<LanguageModel>(options);
    require_tokenizer(model, "--choices");
    const auto [first, end] = items_of(part, questions.size());
    Measured measured{nlohmann::json::object(), questions.size()};
    Progress progress("slip eval: questions");
    for (std::size_t i = first; i < end; ++i) {
        const Answer found = answer(questions[i], model);
        measured.values.push_back({{"choice", found.choice},
                                   {"correct", found.choice == questions[i].answer},
                                   {"correct_per_byte", found.per_byte == questions[i].answer}});
        progress.update(i + 1 - first, end - first);
    }
    return measured;
}

int evaluate_choices(const Options& options) {
    const std::string path = options.required("choices");
    std::vector<Question> questions = read_questions(path);
    const std::size_t most = options.number_or("limit", SIZE_MAX, 1);
    if (most < questions.size()) questions.resize(most);
    const nlohmann::json request{{"choices", digest_of_text(base::read_file(path))},
                                 {"limit", given(options, "limit")}};
    const auto measured = measured_in_parts(options, request, [&](const std::optional<Part>& part) {
        return measure_choices(options, questions, part);
    });
    if (!measured) return 0;
    std::size_t correct = 0, correct_per_byte = 0;
    std::vector<std::size_t> choices;
    for (const auto& value : measured->values) {
        choices.push_back(value.at("choice"));
        correct += value.at("correct") ? 1U : 0U;
        correct_per_byte += value.at("correct_per_byte") ? 1U : 0U;
    }
    const auto share = [&](std::size_t count) {
        return static_cast<double>(count) / static_cast<double>(choices.size());
    };
    if (options.has("json")) {
        const nlohmann::ordered_json json{{"items", choices.size()},
                                          {"correct", correct},
                                          {"accuracy", share(correct)},
                                          {"accuracy_norm", share(correct_per_byte)},
                                          {"choices", choices}};
        std::cout << json.dump() << '\n';
    } else {
        std::cout << "questions            " << choices.size() << "\naccuracy             "
                  << share(correct) << "\naccuracy, a byte     " << share(correct_per_byte) << '\n';
    }
    return 0;
}

}  // namespace

int eval(const Arguments& arguments) {
    Options options(
        std::string("eval ") + model_usage +
            "\n            (--text FILE | --choices FILE | --images FILE --labels FILE) [--json]\n"
            "            [--part I/N] [--results DIR]",
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
    add_part_flags(options);
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
