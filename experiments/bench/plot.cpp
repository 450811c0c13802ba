// A picture of a report, written by hand: bars, a line, text.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "experiments/bench/machine.hpp"
#include "experiments/bench/report.hpp"
#include "optimized/base/error.hpp"
#include "optimized/kernels/registry.hpp"

namespace slip::bench {
namespace {

constexpr double line_height = 24, bar_left = 300, bar_width = 320, picture_width = 820;

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
    /// An area of this height below what is there; returns its top.
    double area(double height) {
        const double top = y_;
        y_ += height;
        return top;
    }
    void segment(double x1, double y1, double x2, double y2, const std::string& stroke) {
        body_ << "<line x1='" << x1 << "' y1='" << y1 << "' x2='" << x2 << "' y2='" << y2
              << "' stroke='" << stroke << "'/>\n";
    }
    void dot(double x, double y, const std::string& fill) {
        body_ << "<circle cx='" << x << "' cy='" << y << "' r='3.5' fill='" << fill << "'/>\n";
    }
    void text(double x, double y, const std::string& text, const char* anchor = "start") {
        body_ << "<text x='" << x << "' y='" << y << "' text-anchor='" << anchor << "'>"
              << escaped(text) << "</text>\n";
    }
    /// Down from `top` to here.
    void line(double at, double top) {
        const double x = bar_left + at * bar_width;
        body_ << "<line x1='" << x << "' y1='" << top << "' x2='" << x << "' y2='" << y_
              << "' stroke='black' stroke-dasharray='3'/>\n";
    }
    std::string svg() const {
        std::ostringstream text;
        text << "<svg xmlns='http://www.w3.org/2000/svg' width='" << picture_width << "' height='"
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

/// Tokens per second, from 0, against the length of the context, both linear.
class Chart {
public:
    Chart(const std::vector<Curve>& curves, Canvas& canvas)
        : canvas_(canvas), top_(canvas.area(height + 2 * line_height)) {
        for (const Curve& curve : curves) {
            for (const Curve::Point& point : curve.points) {
                most_context_ = std::max(most_context_, static_cast<double>(point.context));
                most_tokens_ = std::max(most_tokens_, point.tokens_per_second);
            }
        }
        step_ = round_step(most_tokens_);
        most_tokens_ = std::ceil(most_tokens_ / step_) * step_;
        draw_axes(curves.front());
    }
    void draw(const Curve& curve, const std::string& colour) {
        for (std::size_t i = 0; i < curve.points.size(); ++i) {
            const auto [x, y] = place(curve.points[i]);
            canvas_.dot(x, y, colour);
            if (i == 0) continue;
            const auto [before_x, before_y] = place(curve.points[i - 1]);
            canvas_.segment(before_x, before_y, x, y, colour);
        }
        const auto [x, y] = place(curve.points.back());
        canvas_.text(x + 10, y + 4, curve.name);
    }

private:
    static constexpr double height = 260, chart_width = 600, left = 60;

    struct Place {
        double x, y;
    };
    Place place(const Curve::Point& point) const {
        return {left + chart_width * static_cast<double>(point.context) / most_context_,
                top_ + height * (1 - point.tokens_per_second / most_tokens_)};
    }
    /// 1, 2 or 5 times a power of ten, so that `most` is 4 to 10 steps.
    static double round_step(double most) {
        const double ten = std::pow(10.0, std::floor(std::log10(most)));
        return most < 2 * ten ? ten / 5 : most < 5 * ten ? ten / 2 : ten;
    }
    /// Lines at multiples of the step, and the contexts that were measured.
    void draw_axes(const Curve& curve) {
        for (double tokens = 0; tokens <= most_tokens_; tokens += step_) {
            const double y = place({0, tokens}).y;
            canvas_.segment(left, y, left + chart_width, y, tokens > 0 ? "#ddd" : "black");
            canvas_.text(left - 8, y + 4, rounded(tokens), "end");
        }
        for (const Curve::Point& point : curve.points) {
            canvas_.text(place(point).x, top_ + height + 16, std::to_string(point.context),
                         "middle");
        }
        canvas_.text(left, top_ + height + 36, "tokens of context");
    }

    Canvas& canvas_;
    double top_;
    double most_context_ = 1, most_tokens_ = 0, step_ = 1;
};

void draw_curves(const Report& report, Canvas& canvas) {
    if (report.curves.empty()) return;
    constexpr std::array colours{"#4878a8", "#c06030", "#408040"};
    canvas.title("Tokens per second, decode, against the context before them");
    Chart chart(report.curves, canvas);
    for (std::size_t i = 0; i < report.curves.size(); ++i) {
        chart.draw(report.curves[i], colours[i % colours.size()]);
    }
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
    draw_curves(report, canvas);
    draw_figures(report, canvas);
    if (report.curves.empty()) draw_tokens(report, canvas);
    std::ofstream out(file);
    out << canvas.svg() << std::flush;
    if (!out) throw BadInput(file.string() + ": cannot be written");
}

}  // namespace slip::bench
