// A picture of a report, written by hand: bars, a line, text.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "experiments/bench/machine.hpp"
#include "experiments/bench/report.hpp"
#include "optimized/base/error.hpp"
#include "optimized/kernels/registry.hpp"

namespace slip::bench {
namespace {

constexpr double line_height = 24, bar_left = 300, bar_width = 320, width = 820;

std::string escaped(const std::string& text) {
    std::string result;
    for (const char c : text) {
        if (c == '&') {
            result += "&amp;";
        } else if (c == '<') {
            result += "&lt;";
        } else {
            result += c;
        }
    }
    return result;
}

std::string rounded(double value) {
    std::ostringstream text;
    text.precision(4);
    text << value;
    return text.str();
}

/// Lines of text with a bar each, from top to bottom.
class Canvas {
public:
    void title(const std::string& text) {
        y_ += line_height;
        body_ << "<text x='10' y='" << y_ << "' font-weight='bold'>" << escaped(text)
              << "</text>\n";
        y_ += 10;
    }
    /// `length` in parts of the widest bar.
    void bar(const std::string& name, double length, bool good, const std::string& note) {
        const double end = std::clamp(length, 0.0, 1.0) * bar_width;
        body_ << "<text x='10' y='" << y_ + 16 << "'>" << escaped(name) << "</text>\n<rect x='"
              << bar_left << "' y='" << y_ + 3 << "' width='" << end << "' height='17' fill='"
              << (good ? "#4878a8" : "#c06030") << "'/>\n<text x='" << bar_left + end + 6 << "' y='"
              << y_ + 16 << "'>" << escaped(note) << "</text>\n";
        y_ += line_height;
    }
    double y() const { return y_; }
    /// Down from `top` to here.
    void line(double at, double top) {
        const double x = bar_left + at * bar_width;
        body_ << "<line x1='" << x << "' y1='" << top << "' x2='" << x << "' y2='" << y_
              << "' stroke='black' stroke-dasharray='3'/>\n";
    }
    std::string svg() const {
        std::ostringstream text;
        text << "<svg xmlns='http://www.w3.org/2000/svg' width='" << width << "' height='"
             << y_ + 10 << "' font-family='sans-serif' font-size='13'>\n"
             << "<rect width='100%' height='100%' fill='white'/>\n"
             << body_.str() << "</svg>\n";
        return text.str();
    }

private:
    std::ostringstream body_;
    double y_ = 0;
};

/// Twice what was wanted fills the width.
void draw_figures(const Report& report, Canvas& canvas) {
    constexpr double most = 2;
    canvas.title("Figures, in parts of what is wanted (line)");
    const double top = canvas.y();
    for (const Figure& figure : report.figures) {
        const Wanted* want = wanted(figure.name);
        if (want == nullptr) continue;
        const double reached = want->reached(figure.value);
        canvas.bar(figure.name, reached / most, reached >= 1,
                   rounded(figure.value) + (want->at_least ? "  (at least " : "  (at most ") +
                       rounded(want->value) + ")");
    }
    canvas.line(1 / most, top);
}

void draw_tokens(const Report& report, Canvas& canvas) {
    double most = 0;
    for (const Row& row : report.rows) {
        if (row.unit == "tokens/s") most = std::max(most, row.per_second);
    }
    if (most == 0) return;
    canvas.title("Tokens a second");
    for (const Row& row : report.rows) {
        if (row.unit != "tokens/s") continue;
        canvas.bar(row.name, row.per_second / most, true, rounded(row.per_second));
    }
}

}  // namespace

void plot(const Report& report, const std::filesystem::path& file) {
    Canvas canvas;
    canvas.title(processor_name() + ", kernels " + kernels::active().name);
    draw_figures(report, canvas);
    draw_tokens(report, canvas);
    std::ofstream out(file);
    out << canvas.svg() << std::flush;
    if (!out) throw BadInput(file.string() + ": cannot be written");
}

}  // namespace slip::bench
