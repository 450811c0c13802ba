#include <algorithm>
#include <bit>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <sstream>

#include "optimized/artifact/artifact.hpp"
#include "optimized/base/files.hpp"
#include "optimized/graph/sampler.hpp"
#include "optimized/kernels/registry.hpp"
#include "programs/slip/command.hpp"
#include "programs/slip/support/model.hpp"
#include "programs/slip/support/options.hpp"
#include "programs/slip/support/progress.hpp"
#include "programs/slip/support/sampling.hpp"
#include "slip/charlie.hpp"
#include "slip/error.hpp"
#include "slip/text_stream.hpp"
#include "slip/trace.hpp"

namespace slip::tool {
namespace {

using base::StagedFile;

static_assert(std::endian::native == std::endian::little, "--logits writes native floats (CONV-2)");

struct Outcome {
    std::vector<TokenId> ids;
    double seconds = 0;

    double tokens_per_second() const {
        return seconds > 0 ? static_cast<double>(ids.size()) / seconds : 0;
    }
};

/// The file of an option, if it was given: it replaces an older one once the run has succeeded, and
/// not before. What a model answers, and how fast, is its owner's (THREAT-2).
std::unique_ptr<StagedFile> open_output(const Options& options, const char* name) {
    const std::string file = options.file_or_none(name);
    if (file.empty()) return nullptr;
    return std::make_unique<StagedFile>(file, StagedFile::Existing::replace);
}

void write_whole(StagedFile& file, const std::string& contents) {
    file.append(std::as_bytes(std::span(contents)));
    file.commit();
}

/// Where the answer goes: standard output, or the file of --output, which is written at the end.
class Destination {
public:
    explicit Destination(const Options& options) : file_(open_output(options, "output")) {}

    bool is_file() const { return file_ != nullptr; }
    std::ostream& stream() { return file_ ? static_cast<std::ostream&>(kept_) : std::cout; }
    /// The answer is complete.
    void finish() {
        if (file_) write_whole(*file_, kept_.str());
    }

private:
    std::unique_ptr<StagedFile> file_;
    std::ostringstream kept_;  // what the file will hold
};

/// Every file that the options ask for, opened before anything is computed: one that cannot be
/// written is refused at once.
struct Outputs {
    explicit Outputs(const Options& options)
        : answer(options),
          logits(open_output(options, "logits")),
          trace(open_output(options, "trace")) {}

    Destination answer;
    std::unique_ptr<StagedFile> logits;  // null if not asked for, like the next
    std::unique_ptr<StagedFile> trace;
};

/// Prints the new text as it comes, or the new ids if the model has no tokenizer.
class Printer {
public:
    Printer(std::ostream& out, const LanguageModel& model, const std::vector<TokenId>& prompt,
            const std::vector<std::string>& stops)
        : out_(out) {
        if (model.has_tokenizer()) text_.emplace(model, prompt, stops);
    }
    Printer(const Printer&) = delete;
    Printer& operator=(const Printer&) = delete;
    /// An answer that broke off ends its line, so that the error has one of its own.
    ~Printer() {
        if (open_line_) out_ << std::endl;
    }

    /// Returns whether to go on.
    bool push(TokenId id) {
        print(text_ ? text_->push(id) : std::to_string(id) + ' ');
        return !text_ || !text_->stopped();
    }
    void finish() {
        if (text_) print(text_->finish());
        out_ << std::endl;
        open_line_ = false;
    }

private:
    void print(const std::string& text) {
        if (text.empty()) return;
        out_ << text << std::flush;
        open_line_ = true;
    }

    std::ostream& out_;
    std::optional<TextStream> text_;  // none if the model has no tokenizer
    bool open_line_ = false;
};

constexpr const char* prompt_flags[] = {"prompt", "prompt-file", "ids"};

/// Throws BadInput unless exactly one flag says what the prompt is.
void require_one_prompt(const Options& options) {
    const char* given = nullptr;
    for (const char* flag : prompt_flags) {
        if (given != nullptr) options.forbid(flag, std::string("beside --") + given);
        if (options.has(flag)) given = flag;
    }
    if (given == nullptr) throw BadInput("--prompt, --prompt-file or --ids is missing; see --help");
}

/// The text of --prompt-file, without the newline that ends its last line.
std::string read_prompt(const std::string& file) {
    constexpr std::size_t most = std::size_t{1} << 24;
    std::string text;
    if (file == "-") {
        text.assign(std::istreambuf_iterator<char>(std::cin), {});
        if (text.size() > most) throw BadInput("standard input: is longer than 2^24 bytes");
    } else {
        text = base::read_file(file, most);
    }
    if (text.ends_with('\n')) text.pop_back();
    return text;
}

std::vector<TokenId> prompt_of(const Options& options, const LanguageModel& model) {
    if (options.has("ids")) return options.token_ids("ids");
    const bool in_file = options.has("prompt-file");
    require_tokenizer(model, in_file ? "--prompt-file" : "--prompt");
    return model.encode_prompt(in_file ? read_prompt(options.required("prompt-file"))
                                       : options.required("prompt"));
}

SamplingOptions sampling_of(const Options& options) {
    SamplingOptions sampling;
    sampling.max_tokens = options.number_or("max-tokens", most_tokens, 1, 1U << 24);
    sampling.temperature = options.real_or("temperature", 0);
    if (sampling.temperature == 0) options.forbid("seed", "without a --temperature above 0");
    sampling.seed = options.number_or("seed", 0, 0);
    set_choice(options, sampling);
    return sampling;
}

/// Without --max-tokens the answer ends where the context does, at the latest; the last new token
/// takes no position of it. A prompt that does not fit is refused where it is computed.
void fit_into_context(const Options& options, const LanguageModel& model, std::size_t prompt,
                      SamplingOptions& sampling) {
    const std::size_t context = model.max_positions();
    if (options.has("max-tokens") || prompt > context) return;
    sampling.max_tokens = std::min(sampling.max_tokens, context - prompt + 1);
}

/// --stop, each time that it stands.
std::vector<std::string> stops_of(const Options& options, const LanguageModel& model) {
    const std::vector<std::string> stops = options.all("stop");
    if (!stops.empty()) require_tokenizer(model, "--stop");
    return stops;
}

/// What is shown of the choice of one token: its log-probability, and the likeliest tokens'.
nlohmann::ordered_json describe_choice(TokenId id, std::span<const float> logits,
                                       std::size_t likeliest) {
    const std::vector<double> values = graph::log_probabilities(logits);
    std::vector<TokenId> ids(values.size());
    std::iota(ids.begin(), ids.end(), 0);
    const auto value_of = [&](TokenId token) { return values[static_cast<std::size_t>(token)]; };
    const std::size_t count = std::min(likeliest, ids.size());
    std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count), ids.end(),
                      [&](TokenId a, TokenId b) {
                          return std::pair(-value_of(a), a) < std::pair(-value_of(b), b);
                      });
    nlohmann::ordered_json top = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < count; ++i) {
        top.push_back({{"id", ids[i]}, {"log_probability", value_of(ids[i])}});
    }
    return {{"id", id}, {"log_probability", value_of(id)}, {"likeliest", top}};
}

Outcome run(LanguageModel& model, const std::vector<TokenId>& prompt,
            const SamplingOptions& sampling, StagedFile* logits_file, const OnToken& show) {
    const auto start = std::chrono::steady_clock::now();
    Outcome outcome;
    outcome.ids = model.generate(prompt, sampling, [&](TokenId id, std::span<const float> logits) {
        if (logits_file) logits_file->append(std::as_bytes(logits));
        return show(id, logits);
    });
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    outcome.seconds = elapsed.count();
    if (logits_file) logits_file->commit();
    return outcome;
}

void print_json(std::ostream& out, const LanguageModel& model, const std::string& engine,
                const std::vector<TokenId>& prompt, const Outcome& outcome, const std::string& text,
                const nlohmann::ordered_json& choices) {
    const RunStatistics run = model.statistics();
    using Json = nlohmann::ordered_json;
    Json json{{"ids", outcome.ids},
              {"prompt_ids", prompt},
              {"text", text},
              {"engine", engine},
              {"tokens_per_second", outcome.tokens_per_second()},
              {"rounds", run.rounds},
              {"bytes_up", run.bytes_up},
              {"bytes_down", run.bytes_down},
              {"checks", run.checks},
              {"charlie_seconds", run.charlie_seconds},
              {"david_seconds", run.david_seconds},
              {"round_seconds", run.round_times.seconds},
              {"offline_seconds", run.offline_seconds},
              {"charlie_multiplications", run.charlie_multiplications},
              {"david_multiplications", run.david_multiplications},
              {"offline_multiplications", run.offline_multiplications},
              {"masks_made", run.masks_made},
              {"masks_used", run.masks_used},
              {"masks_waited_for", run.masks_waited_for},
              {"mask_wait_seconds", run.mask_wait_seconds},
              {"kernels", kernels::active().name}};
    if (!choices.is_null()) json["choices"] = choices;
    out << json.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
}

void print_summary(const LanguageModel& model, const std::string& engine, const Outcome& outcome) {
    const RunStatistics run = model.statistics();
    std::cerr << std::fixed << std::setprecision(1) << "slip generate: " << outcome.ids.size()
              << " tokens, " << outcome.tokens_per_second() << " a second, engine " << engine;
    if (run.rounds > 0) {
        std::cerr << ", " << run.rounds << " rounds, " << run.checks << " replies checked, "
                  << run.bytes_up << " bytes up, " << run.bytes_down << " bytes down";
    }
    std::cerr << std::endl;
}

void declare_generate(Options& options) {
    add_model_flags(options);
    options.group("Prompt");
    options.add("prompt", "TEXT",
                "text to continue, after BOS where the family has one before texts; other users "
                "of this machine can see it in the list of processes");
    options.add("prompt-file", "FILE",
                "instead of --prompt: a file with the text, or - for standard input; a newline at "
                "its end is not part of it");
    options.add("ids", "1,2,3", "instead of --prompt: token ids, used as they are");
    options.group("Answer");
    options.add("max-tokens", "N",
                "stop after N new tokens, or at the end of the text (default: there, and at the "
                "latest after 4096 or where the model's context is full)");
    options.add("temperature", "T", "0, the default: always the likeliest token");
    options.add("seed", "S", "of the random choices of a temperature above 0 (default 0)");
    add_choice_flags(options);
    options.add_list("stop", "TEXT",
                     "end before this text; may be given several times; the ids include what it "
                     "was found in");
    options.group("Output");
    options.add("output", "FILE",
                "write the text, or what --json prints, to this file instead of standard output: "
                "whole, at the end, and for its owner alone; an older one is replaced");
    options.add(
        "log-probabilities", "N",
        "with --json: of each new token, and of the N likeliest in its place; who sees them "
        "learns more of the model than from the text (E-32)");
    options.add(
        "logits", "FILE",
        "write the logits behind every new token: float32, little-endian, one row per token");
    options.add("trace", "FILE",
                "with hybrid: write who was busy with what, and who waited, in Chrome's format "
                "(chrome://tracing, Perfetto)");
    options.add("ready", "N",
                "with hybrid: start the clock when N masks per group are ready, or as many lattice "
                "masks as --mask-memory has room for (default 0)");
    options.add_switch("json", "print one JSON object instead of the text");
}

void generate_json(const Options& options, LanguageModel& model, const std::vector<TokenId>& prompt,
                   const SamplingOptions& sampling, Outputs& outputs) {
    Progress progress("slip generate: tokens");
    std::optional<TextStream> stream;
    if (model.has_tokenizer()) stream.emplace(model, prompt, stops_of(options, model));
    const std::size_t likeliest = options.number_or("log-probabilities", 0, 0, 1U << 20);
    nlohmann::ordered_json choices;
    std::string text;
    std::size_t count = 0;
    const Outcome outcome = run(model, prompt, sampling, outputs.logits.get(),
                                [&](TokenId id, std::span<const float> logits) {
                                    progress.update(++count, sampling.max_tokens);
                                    if (options.has("log-probabilities")) {
                                        choices.push_back(describe_choice(id, logits, likeliest));
                                    }
                                    if (stream) text += stream->push(id);
                                    return !stream || !stream->stopped();
                                });
    if (stream) text += stream->finish();
    print_json(outputs.answer.stream(), model, engine_of(options), prompt, outcome, text, choices);
}

void generate_text(const Options& options, LanguageModel& model, const std::vector<TokenId>& prompt,
                   const SamplingOptions& sampling, Outputs& outputs) {
    options.forbid("log-probabilities", "without --json");
    std::optional<Progress> progress;  // where the text itself does not show it
    if (outputs.answer.is_file()) progress.emplace("slip generate: tokens");
    Printer printer(outputs.answer.stream(), model, prompt, stops_of(options, model));
    std::size_t count = 0;
    const Outcome outcome =
        run(model, prompt, sampling, outputs.logits.get(), [&](TokenId id, std::span<const float>) {
            if (progress) progress->update(++count, sampling.max_tokens);
            return printer.push(id);
        });
    printer.finish();
    progress.reset();
    print_summary(model, engine_of(options), outcome);
}

/// Of --ready, how many uniform masks have to be kept for it, at least as many as without it: none
/// if the artifact has lattice masks, of which --mask-memory says how many are kept.
std::size_t masks_to_keep(const Options& options, std::size_t ready) {
    if (ready == 0 || !options.has("artifact")) return ready;
    const auto plan = std::filesystem::path(options.required("artifact")) / "charlie" / "plan.json";
    const auto description = artifact::parse_charlie_description(base::read_file(plan), plan);
    return description.set->lattice ? 0 : std::max(ready, default_masks_ready);
}

}  // namespace

int generate(const Arguments& arguments) {
    Options options(std::string("generate ") + model_usage +
                        "\n            (--prompt TEXT | --prompt-file FILE | --ids 1,2,3)\n        "
                        "    [--max-tokens N]",
                    "Generates text on the trusted machine (Charlie). The JSON's seconds and "
                    "multiplications are Charlie's online "
                    "work, David's, and the offline work for masks; david_seconds are 0 of a "
                    "remote David, and round_seconds what Charlie waited for replies.");
    options.example(
        "slip generate --artifact split --david 127.0.0.1:7401 --tls tls/charlie \\\n"
        "                --prompt \"Once upon a time\"");
    declare_generate(options);
    if (!options.parse(arguments)) return 0;
    require_one_prompt(options);
    SamplingOptions sampling = sampling_of(options);
    const std::size_t ready = options.number_or("ready", 0, 0, most_masks_ready);
    const std::string engine = engine_of(options);
    if (engine != "hybrid") {
        for (const char* name : {"ready", "trace"}) {
            options.forbid(name, "without --engine hybrid");
        }
    }

    Outputs outputs(options);
    const auto trace = outputs.trace ? std::make_shared<Trace>() : nullptr;
    auto model = open_model<LanguageModel>(options, masks_to_keep(options, ready), nullptr, trace);
    const std::vector<TokenId> prompt = prompt_of(options, model);
    fit_into_context(options, model, prompt.size(), sampling);
    if (ready > 0) model.wait_for_masks(ready);

    if (options.has("json")) {
        generate_json(options, model, prompt, sampling, outputs);
    } else {
        generate_text(options, model, prompt, sampling, outputs);
    }
    if (trace) write_whole(*outputs.trace, trace->json());
    outputs.answer.finish();
    return 0;
}

}  // namespace slip::tool
