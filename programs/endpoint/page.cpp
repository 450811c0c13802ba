#include <cstdio>

#include "programs/endpoint/counts.hpp"
#include "programs/endpoint/parsing/http.hpp"

namespace slip::endpoint {
namespace {

constexpr const char* head = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="2">
<link rel="icon" href="data:,">
<title>SLIP</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  background: #fff; color: #1a1a1a; }
h1 { font-size: 1.4rem; margin: 0; }
h2 { font-size: 1rem; margin: 2rem 0 0.5rem; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(10rem, 1fr)); gap: 1rem; margin: 0; }
dt { color: #555; font-size: 0.85rem; }
dd { margin: 0; font-size: 1.3rem; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
td { padding: 0.3rem 0; border-top: 1px solid #ccc; overflow-wrap: anywhere; }
.small { font-size: 0.85rem; color: #555; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) {
  body { background: #161616; color: #eee; }
  dt, .small { color: #aaa; }
  td { border-color: #444; }
}
</style>
</head>
<body>
)";

std::string one_decimal(double value) {
    std::array<char, 40> text{};
    const int size = std::snprintf(text.data(), text.size(), "%.1f", value);
    return {text.data(), static_cast<std::size_t>(size)};
}

class Figures {
public:
    explicit Figures(const char* title) { html_ = std::string("<h2>") + title + "</h2>\n<dl>\n"; }
    Figures& add(const char* id, const char* name, const std::string& value) {
        html_ += std::string("<div><dt>") + name + "</dt><dd id=\"" + id + "\">" + escaped(value) +
                 "</dd></div>\n";
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
    std::string html = "<h2>Davids</h2>\n<table>\n";
    for (const DavidState& david : davids) {
        html += "<tr><td>" + escaped(david.address) + "</td><td>" + escaped(david.state) +
                "</td></tr>\n";
    }
    return html + "</table>\n";
}

std::string stock_of(const SchedulerStatistics& now) {
    if (now.masks_stocked == 0) return "none";
    return std::to_string(now.masks_ready) + " of " + std::to_string(now.masks_stocked);
}

std::string integrity_figures(const Snapshot& now) {
    const RunStatistics& run = now.scheduler.run;
    return Figures("With David")
        .add("checks", "replies that passed the check", run.checks)
        .add("rejects", "wrong replies", now.scheduler.rejects)
        .add("rounds", "messages", run.rounds)
        .add("sessions", "sessions", now.scheduler.sessions)
        .add("up", "bytes up", run.bytes_up)
        .add("down", "bytes down", run.bytes_down)
        .add("stock", "tokens with masks in stock", stock_of(now.scheduler))
        .html();
}

}  // namespace

std::string page_text(const Snapshot& now) {
    const SchedulerStatistics& scheduler = now.scheduler;
    std::string html = head;
    html += "<h1>" + escaped(now.model) + "</h1>\n<p><strong id=\"state\">" + escaped(now.state) +
            "</strong>, " + escaped(now.facts.engine) + ", " + escaped(now.facts.set) + "</p>\n";
    html += Figures("Answers")
                .add("speed", "tokens per second", one_decimal(now.tokens_per_second))
                .add("live", "live generations", scheduler.live)
                .add("waiting", "waiting", scheduler.waiting)
                .add("generations", "ended", scheduler.generations)
                .add("generated", "tokens generated", scheduler.generated_tokens)
                .add("prompts", "prompt tokens computed", scheduler.prompt_tokens)
                .add("cached", "prompt tokens from the cache", scheduler.cached_tokens)
                .html();
    html += integrity_figures(now) + davids_table(now.davids);
    html += "<p class=\"small\">Artifact " + escaped(now.facts.digest) + "; kernels " +
            escaped(now.facts.kernels) + "; up for " + one_decimal(now.uptime_seconds / 3600) +
            " h. The page loads itself anew every 2 seconds.</p>\n</body>\n</html>\n";
    return html;
}

std::string page_policy() {
    return "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
           "form-action 'none'; frame-ancestors 'none'";
}

}  // namespace slip::endpoint
