"""The report: one HTML page without scripts, without anything from elsewhere."""

import collections
import html

from figures import attacks, chart
from figures.figure import number

STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --paper: #ffffff; --quiet: #5a616b; --rule: #d7d9dd; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e7ea; --paper: #16181c; --quiet: #a3aab5;
  --rule: #3c4048; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 16px; max-width: 1160px; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; line-height: 1.2; } h2 { font-size: 1.25rem; margin-top: 2.2rem; }
p, li, figcaption { max-width: 46rem; }
a { color: inherit; }
figure { margin: 1rem 0; }
.panels { display: grid; gap: 12px;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 340px), 1fr)); }
.panels svg { width: 100%; height: auto; max-width: 460px; }
.missing { color: var(--quiet); font-size: .92rem; }
.scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums;
  margin: .5rem 0 1.5rem; }
th, td { text-align: left; padding: 3px 10px 3px 0; border-bottom: 1px solid var(--rule);
  vertical-align: top; }
th { font-weight: 600; } td.number { text-align: right; white-space: nowrap; }
code { font-size: .85em; overflow-wrap: anywhere; }
@media print { :root { color-scheme: light; --ink: #000; --paper: #fff; --quiet: #444; --rule: #bbb; }
  svg.chart { --ink: #000; --faint: #ccc; --paper: #fff; }
  body { max-width: none; padding: 0; font-size: 10pt; } figure, tr, .panels svg { break-inside: avoid; }
  h2, h3 { break-after: avoid; } .scroll { overflow: visible; } table { font-size: 7.5pt; } }
"""


QUICK = ("These are quick runs: models of this repository, texts that they made up themselves, and attackers "
         "who train for a few steps. They show that everything runs. The committed results say more.")


def escape(text):
    return html.escape(str(text), quote=True)


def paragraph(text, style=""):
    return f"<p{style}>{escape(text)}</p>" if text else ""


def table(header, rows):
    def cell(text):
        kind = ' class="number"' if str(text)[:1].isdigit() else ""
        return f"<td{kind}>{escape(text)}</td>"

    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in header)
    body = "\n".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    return (f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n'
            f'</tbody></table></div>')


def figure_section(index, figure, skipped=()):
    parts = [f'<section id="{figure.name}"><h2>{index}. {escape(figure.title)}</h2>', "<figure>"]
    if figure.panels:
        parts += ['<div class="panels">', *map(chart.inline, figure.panels), "</div>"]
    parts.append(f"<figcaption><p>{escape(figure.meaning)}</p>")
    parts.append(f"<p><b>The paper:</b> {escape(figure.paper)}</p>")
    parts.append(paragraph(figure.note(skipped), ' class="missing"') + "</figcaption></figure>")
    if figure.rows:
        parts.append(f'<p><a href="#{figure.name}-numbers">The numbers</a></p>')
    return "\n".join([*parts, "</section>"])


def numbers_section(figures):
    parts = ['<section id="numbers"><h2>Numbers</h2>']
    for index, figure in enumerate(figures, 1):
        if figure.rows:
            parts.append(f'<h3 id="{figure.name}-numbers">{index}. {escape(figure.title)}</h3>')
            parts.append(table(figure.header, figure.rows))
    return "\n".join([*parts, "</section>"])


def runs_section(collection):
    machines = collections.Counter(
        f"{result['machine']['processor']}, {result['machine']['cores']} cores"
        for result in collection.results.values())
    rows = [(name, "" if result.get("seed") is None else result["seed"], number(result["processor_s"]),
             number(result["duration_s"]), " ".join(result["command"]))
            for name, result in collection.results.items()]
    total = sum(result["processor_s"] for result in collection.results.values())
    return "\n".join([
        '<section id="runs"><h2>Runs</h2>',
        paragraph(f"{len(rows)} of {len(collection.runs)} listed runs, {number(round(total))} s of "
                  f"processor time in all, a core each. {{shared}} is the data beside the repository, "
                  f"{{work}} a folder in which runs leave files for others. experiments/run repeats them."),
        "<ul>", *(f"<li>{escape(machine)}: {count} runs</li>" for machine, count in machines.items()),
        "</ul>",
        table(("run", "seed", "processor s", "elapsed s", "command"), rows), "</section>"])


def attacks_section(rows):
    if not rows:
        return ""
    return "\n".join([
        '<section id="attacks"><h2>Attacks</h2>',
        paragraph("Each attack is tried where the rule that stops it is off, against the paper's split, and "
                  "against the hidden one; it succeeds if its error is at most the threshold. Those that "
                  "succeed against the paper's split come first, then attackers who train David's share. An "
                  "attack that fails shows that this attack fails, and no more."),
        table(attacks.HEADER, rows), "</section>"])


def page(figures, collection, findings=(), attacked=()):
    """`findings`: sentences for the top; `attacked`: rows of the table of attacks."""
    contents = "".join(f'<li><a href="#{figure.name}">{escape(figure.title)}</a></li>'
                       for figure in figures)
    return "\n".join([
        '<!DOCTYPE html>', '<html lang="en">', "<head>", '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        "<title>SLIP: what it protects, measured</title>", '<link rel="icon" href="data:,">',
        f"<style>{STYLE}{chart.STYLE}</style>", "</head>", "<body>",
        "<h1>What SLIP protects, measured</h1>",
        paragraph("A model is split between Charlie, who is trusted, and David, who is not. These figures "
                  "say what David's share is worth to him, as it is and after training, and what protection "
                  "costs Charlie. Intervals are 95 %, by Student's t over seeds; a point without one was "
                  "measured once or involves no chance."),
        paragraph(QUICK) if collection.quick else "",
        "<h2>What was found</h2><ul>" if findings else "",
        *(f"<li>{escape(sentence)}</li>" for sentence in findings), "</ul>" if findings else "",
        "<h2>Figures</h2>",
        f"<ol>{contents}</ol>",
        '<p><a href="#attacks">The table of attacks</a></p>' if attacked else "",
        *(figure_section(index, figure, collection.skipped) for index, figure in enumerate(figures, 1)),
        attacks_section(attacked), numbers_section(figures), runs_section(collection),
        "</body>", "</html>"]) + "\n"
