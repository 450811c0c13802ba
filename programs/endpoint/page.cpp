#include <openssl/evp.h>

#include <algorithm>
#include <cstdio>
#include <span>

#include "optimized/base/error.hpp"
#include "programs/endpoint/counts.hpp"
#include "programs/endpoint/parsing/http.hpp"

namespace slip::endpoint {
namespace {

constexpr const char* head = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<noscript><meta http-equiv="refresh" content="2"></noscript>
<link rel="icon" href="data:,">
<title>SLIP</title>
<style>
:root { color-scheme: light dark; --paper: #fff; --ink: #1a1a1a; --quiet: #555; --line: #ccc;
  --good: #16703a; --bad: #b3261e; --wait: #7a5200; --box: #f4f4f2; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #161616; --ink: #eee; --quiet: #aaa; --line: #444; --good: #6fd08c; --bad: #ff8a80;
    --wait: #ffc966; --box: #222; }
}
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  background: var(--paper); color: var(--ink); }
h1 { font-size: 1.4rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 2rem 0 0.5rem; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: 1rem; margin: 0; }
dt { color: var(--quiet); font-size: 0.85rem; }
dd { margin: 0; font-size: 1.3rem; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
dd small { font-size: 0.85rem; color: var(--quiet); }
table { border-collapse: collapse; width: 100%; }
td { padding: 0.3rem 0; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
.good::before, .bad::before, .wait::before { content: "\25cf\a0"; }
.good { color: var(--good); } .bad { color: var(--bad); } .wait { color: var(--wait); }
.small { font-size: 0.85rem; color: var(--quiet); overflow-wrap: anywhere; }
svg.spark { display: block; width: 100%; height: 2.5rem; }
svg.spark polyline { fill: none; stroke: currentColor; stroke-width: 1.5; vector-effect: non-scaling-stroke; }
pre { background: var(--box); padding: 0.6rem; overflow-x: auto; font-size: 0.85rem; white-space: pre-wrap;
  overflow-wrap: anywhere; }
textarea, input { box-sizing: border-box; width: 100%; font: inherit; color: inherit;
  background: var(--box); border: 1px solid var(--line); padding: 0.4rem; }
button { font: inherit; padding: 0.3rem 1rem; margin: 0.5rem 0; }
#talk p { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0.5rem 0; }
#talk .asked { color: var(--quiet); }
form[hidden] { display: none; }
</style>
</head>
<body>
)";

/// Renews the figures, and asks for texts. Whatever comes is shown as text.
constexpr const char* script = R"(
const at = id => document.getElementById(id);
setInterval(async () => {
  try {
    const page = await (await fetch('/')).text();
    const anew = new DOMParser().parseFromString(page, 'text/html').getElementById('figures');
    if (anew) at('figures').replaceChildren(...anew.childNodes);
  } catch { at('state').className = 'bad'; at('state').textContent = 'not reached'; }
}, 2000);
const form = at('ask'), chat = form.dataset.kind === 'chat', told = [];
form.hidden = false;
const add = (kind, text) => {
  const line = document.createElement('p');
  line.className = kind; line.textContent = text;
  return at('talk').appendChild(line);
};
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = '';;) {
    const {done, value} = await reader.read();
    if (done) return;
    rest += value;
    for (let end; (end = rest.indexOf('\n\n')) >= 0; rest = rest.slice(end + 2)) {
      const data = rest.slice(6, end);
      if (data !== '[DONE]') yield JSON.parse(data);
    }
  }
}
form.addEventListener('submit', async event => {
  event.preventDefault();
  const text = at('text').value, button = form.querySelector('button');
  if (!text) return;
  button.disabled = true;
  add('asked', text);
  at('text').value = '';
  const answer = add('answer', '');
  try {
    told.push({role: 'user', content: text});
    const order = {model: form.dataset.model, stream: true};
    Object.assign(order, chat ? {messages: told} : {prompt: text, max_tokens: 200});
    const headers = {'Content-Type': 'application/json'};
    if (at('key') && at('key').value) headers.Authorization = 'Bearer ' + at('key').value;
    const path = chat ? '/v1/chat/completions' : '/v1/completions';
    const reply = await fetch(path, {method: 'POST', headers, body: JSON.stringify(order)});
    if (!reply.ok) throw new Error((await reply.json()).error.message);
    for await (const {choices, error} of events(reply.body)) {
      if (error) throw new Error(error.message);
      for (const each of choices) answer.textContent += (chat ? each.delta.content : each.text) ?? '';
    }
    told.push({role: 'assistant', content: answer.textContent});
  } catch (error) {
    told.pop();
    add('bad', error.message);
  }
  button.disabled = false;
  at('text').focus();
});
at('text').addEventListener('keydown', event => {
  if (event.key !== 'Enter' || event.shiftKey) return;
  event.preventDefault();
  form.requestSubmit();
});
)";

std::string formatted(const char* format, double value) {
    std::array<char, 40> text{};
    const int size = std::snprintf(text.data(), text.size(), format, value);
    return {text.data(), static_cast<std::size_t>(size)};
}

std::string bytes_text(std::uint64_t bytes) {
    constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
    return formatted(unit == 0 ? "%.0f" : "%.1f", value) + ' ' + units[unit];
}

std::string mean_text(const Durations& durations) {
    std::uint64_t count = 0;
    for (const std::uint64_t each : durations.counts) count += each;
    if (count == 0) return "none yet";
    const double mean = durations.seconds / static_cast<double>(count);
    return mean < 1 ? formatted("%.1f ms", mean * 1e3) : formatted("%.2f s", mean);
}

/// The values from left to right, between 0 and the largest.
std::string sparkline(const char* name, std::span<const double> values) {
    constexpr double width = 300, height = 40;
    const double most = std::max(1e-9, *std::max_element(values.begin(), values.end()));
    const double step = width / static_cast<double>(std::max<std::size_t>(values.size() - 1, 1));
    std::string points;
    for (std::size_t i = 0; i < values.size(); ++i) {
        points += formatted("%.1f,", step * static_cast<double>(i)) +
                  formatted("%.1f ", height - 1 - (height - 2) * values[i] / most);
    }
    return std::string(
               "<svg class=\"spark\" viewBox=\"0 0 300 40\" preserveAspectRatio=\"none\" ") +
           "role=\"img\" aria-label=\"" + name + "\"><polyline points=\"" + points + "\"/></svg>";
}

class Figures {
public:
    explicit Figures(const char* title) { html_ = std::string("<h2>") + title + "</h2>\n<dl>\n"; }
    Figures& add(const char* id, const char* name, const std::string& value,
                 const std::string& drawing = {}) {
        html_ += std::string("<div><dt>") + name + "</dt><dd id=\"" + id + "\">" + escaped(value) +
                 "</dd>" + (drawing.empty() ? "" : "<dd>" + drawing + "</dd>") + "</div>\n";
        return *this;
    }
    Figures& add(const char* id, const char* name, std::uint64_t value) {
        return add(id, name, std::to_string(value));
    }
    std::string html() const { return html_ + "</dl>\n"; }

private:
    std::string html_;
};

std::string davids_table(const std::vector<DavidState>& davids) {
    if (davids.empty()) return {};
    std::string html = "<h2>Untrusted machines (Davids)</h2>\n<table>\n";
    for (const DavidState& david : davids) {
        const char* const mark = david.mark == DavidState::Mark::good  ? "good"
                                 : david.mark == DavidState::Mark::bad ? "bad"
                                                                       : "wait";
        html += "<tr><td>" + escaped(david.address) + "</td><td class=\"" + mark + "\">" +
                escaped(david.state) + "</td></tr>\n";
    }
    return html + "</table>\n";
}

std::string stock_of(const SchedulerStatistics& now) {
    if (now.full_stock_tokens == 0) return "none";
    return std::to_string(now.stock_tokens) + " of " + std::to_string(now.full_stock_tokens);
}

std::string answers_figures(const Snapshot& now) {
    const SchedulerStatistics& scheduler = now.scheduler;
    return Figures("Answers")
        .add("speed", "tokens per second", formatted("%.1f", now.tokens_per_second),
             sparkline("tokens per second in the last minute", now.recent.tokens))
        .add("first", "until the first token, on average", mean_text(now.latencies.first_token))
        .add("between", "from token to token, on average", mean_text(now.latencies.between_tokens))
        .add("requests", "requests per second", formatted("%.1f", now.recent.answers.back()),
             sparkline("requests per second in the last minute", now.recent.answers))
        .add("live", "live generations", scheduler.live)
        .add("waiting", "waiting", scheduler.waiting)
        .add("generations", "ended", scheduler.generations)
        .add("generated", "tokens generated", scheduler.generated_tokens)
        .add("prompts", "prompt tokens computed", scheduler.prompt_tokens)
        .add("cached", "prompt tokens from the cache", scheduler.cached_tokens)
        .html();
}

std::string integrity_figures(const Snapshot& now) {
    const RunStatistics& run = now.scheduler.run;
    return Figures("With David")
        .add("checks", "replies that passed the check", run.checks)
        .add("rejects", "wrong replies", now.scheduler.rejects)
        .add("rounds", "messages", run.rounds)
        .add("round", "per message, on average", mean_text(run.round_times))
        .add("sessions", "sessions", now.scheduler.sessions)
        .add("up", "sent", bytes_text(run.bytes_up))
        .add("down", "received", bytes_text(run.bytes_down))
        .add("stock", "tokens with masks in stock", stock_of(now.scheduler))
        .html();
}

std::string state_line(const Snapshot& now) {
    const char* const mark = now.state == "ok" ? "good" : now.state == "no David" ? "bad" : "wait";
    return std::string("<p><strong id=\"state\" class=\"") + mark + "\">" + escaped(now.state) +
           "</strong> " + escaped(now.facts.engine) + " " + escaped(now.facts.set) + "</p>\n";
}

/// `model` between quotation marks of JSON within a shell's.
std::string quoted_name(const std::string& model) {
    std::string quoted;
    for (const char letter : model) {
        if (letter == '"' || letter == '\\') quoted += '\\';
        quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    }
    return quoted;
}

/// A form for people and a line for programs.
std::string ask(const Snapshot& now) {
    const std::string path = now.chat ? "/v1/chat/completions" : "/v1/completions";
    const std::string text = now.chat ? R"("messages": [{"role": "user", "content": "Hello"}])"
                                      : R"("prompt": "Once upon a time")";
    std::string html = "<h2>Ask</h2>\n<div id=\"talk\" aria-live=\"polite\"></div>\n";
    html += std::string("<form id=\"ask\" hidden data-kind=\"") + (now.chat ? "chat" : "text") +
            "\" data-model=\"" + escaped(now.model) + "\">\n";
    if (now.needs_key) {
        html +=
            "<p><label>key <input id=\"key\" type=\"password\" autocomplete=\"off\"></label></p>\n";
    }
    html += std::string("<label>") + (now.chat ? "message" : "a text to continue") +
            " <textarea id=\"text\" rows=\"2\"></textarea></label>\n"
            "<button>Send</button>\n</form>\n";
    return html + "<pre id=\"curl\">" +
           escaped("curl " + now.address + path + " -H 'Content-Type: application/json'" +
                   (now.needs_key ? " -H \"Authorization: Bearer $KEY\"" : "") +
                   " -d '{\"model\": \"" + quoted_name(now.model) + "\", " + text + "}'") +
           "</pre>\n";
}

}  // namespace

std::string page_text(const Snapshot& now) {
    std::string html = head;
    html += "<h1>" + escaped(now.model) + "</h1>\n<div id=\"figures\">\n" + state_line(now) +
            davids_table(now.davids) + answers_figures(now);
    if (now.facts.engine == "hybrid") html += integrity_figures(now);
    html += "<p class=\"small\">";
    if (!now.facts.digest.empty()) html += "Artifact " + escaped(now.facts.digest) + ". ";
    html += "Kernels: " + escaped(now.facts.kernels) + ". Up for " +
            formatted("%.1f h.", now.uptime_seconds / 3600) +
            " The figures are renewed every 2 seconds.</p>\n</div>\n";
    return html + ask(now) + "<script>" + script + "</script>\n</body>\n</html>\n";
}

std::string page_policy() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    const std::string text = script;
    base::require(
        EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1,
        "page_policy: a digest");
    std::array<unsigned char, 64> encoded{};
    const int length = EVP_EncodeBlock(encoded.data(), digest.data(), static_cast<int>(size));
    const std::string hash(encoded.begin(), encoded.begin() + length);
    return "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + hash +
           "'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
           "frame-ancestors 'none'";
}

}  // namespace slip::endpoint
