"""The auditor's book: every link leads somewhere, every clause has its rooms, badges are borne out by what
they cite, and headless Chromium can read it; wrong books are refused."""
# test: once

import html
import itertools
import os
import posixpath
import re
import shutil
import subprocess
import sys
import unittest
import urllib.parse

import browser
from slip_system import ROOT, SystemTest

sys.path.insert(0, str(ROOT / "tools"))

from book import charts, formulas, markdown, status, verify  # noqa: E402

try:
    from selenium.webdriver.common.keys import Keys
except ImportError:
    Keys = None

PANDOC = shutil.which("pandoc")
# One page of each kind.
PAGES = ["index.html", "clause/MASK-3.html", "spec/hiding.html", "charts.html", "paper.html", "indexes.html",
         "search.html?q=mask", "source/reference/masking.cpp.html"]

# A question; the links that lead from the front page to its answer; the section; what is said there.
QUESTIONS = [
    ("Which lines enforce that a mask is used once?", ["MASK-5"], "product", "a mask was used a second time"),
    ("What is proved of the AVX-512 product?", ["LIN-1"], "kernels", "gemm, AVX-512 proved of any size"),
    ("What does David learn from my plan?", ["The threat model"], "what-david-learns",
     "the singular values of W_D show about where components are missing"),
    ("Where does the paper's bound fail?", ["errata"], "e-1-unmasking-bound",
     "the lemma fails already for L = 5 and a product of -1"),
    ("What breaks if AES does?", ["The threat model", "If AES falls"], "if-aes-falls",
     "all claims on secrets that are drawn fall"),
]


def build(folder):
    """The folder of a new book."""
    done = subprocess.run([sys.executable, ROOT / "tools/book/build", "--out", folder / "book"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return folder / "book"


def led_to(pages, ways):
    """The page that links with these texts lead to from the front page; None if one is missing."""
    at = "index.html"
    for way in ways:
        links = {markdown.text_of(text): target for target, text in
                 re.findall(r'<a [^>]*?href="([^"]*)"[^>]*>(.*?)</a>', pages[at], re.DOTALL)}
        if way not in links:
            return None
        at = posixpath.normpath(posixpath.join(posixpath.dirname(at), links[way].partition("#")[0]))
    return at


def answers(pages, ways, section, sentence):
    """Whether at most two links lead to a page whose section has the sentence."""
    at = led_to(pages, ways)
    if at is None or len(ways) > 2:
        return False
    try:
        body = verify.room(pages[at], section) or markdown.section(pages[at], section)
    except KeyError:
        return False
    return sentence in re.sub(r"\s+", " ", markdown.text_of(body))


@unittest.skipUnless(PANDOC, "not installed: pandoc")
class Book(SystemTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.book = build(cls.folder)
        cls.pages = verify.load(cls.book)

    def changed(self, address, old, new):
        """The pages, with one change of one of them."""
        page = self.pages[address]
        self.assertTrue(re.search(old, page, re.DOTALL), f"{address}: no {old}")
        return self.pages | {address: re.sub(old, new, page, count=1, flags=re.DOTALL)}

    def refused(self, problems, said):
        self.assertTrue(any(said in problem for problem in problems), f"{said} is not among {problems[:5]}")

    def test_nothing_is_wrong(self):
        self.assertEqual(verify.check(self.book, ROOT), [])

    def test_broken_links_are_refused(self):
        for address, old, new, said in [
                ("clause/MASK-3.html", r'#L13"', '#L99999"', "no such place"),
                ("index.html", r"docs/tour\.html", "docs/tours.html", "does not exist"),
                ("paper.html", 'id="row-2"', 'id="row-1"', "twice")]:
            pages = self.changed(address, old, new)
            self.refused(verify.links(pages, {"style.css", "print.css"}), said)

    def test_clauses_without_their_rooms_are_refused(self):
        for name, said in [("text", "lacks the text"), ("reference", "no reference function"),
                           ("tests", "no room"), ("proof", "no room"), ("vectors", "no vector")]:
            pages = self.changed("clause/MASK-3.html", rf'<section id="{name}">.*?</section>', "")
            self.refused(verify.rooms(pages, ROOT), said)
        pages = self.changed("index.html", r'href="\./clause/MASK-3\.html"', "")
        self.refused(verify.rooms(pages, ROOT), "no link")
        for said in verify.sentences(verify.text_of_clause(ROOT, "MASK-3", "spec/masking.md")):
            pages = self.changed("clause/MASK-3.html", said, "Never")
            self.refused(verify.rooms(pages, ROOT), "lacks the text")
        without = {address: page for address, page in self.pages.items() if address != "clause/MASK-3.html"}
        self.refused(verify.rooms(without, ROOT), "is missing")

    def test_badges_that_say_more_than_their_sources_are_refused(self):
        for address, old, new, said in [
                ("clause/MASK-3.html", "proved in Coq: 2 claims", "proved in Coq: 3 claims", "not of 2"),
                ("clause/MASK-3.html", "claim_unmask_ring", "claim_unmasked_ring", ""),
                ("clause/RAND-1.html", "proved at listed sizes", "proved of any size", "does not say"),
                ("clause/HIDE-5.html", "<code>decode</code>, every", "<code>sample</code>, every",
                 "does not say of sample")]:
            self.refused(verify.badges(self.changed(address, re.escape(old), new), ROOT), said)

    def test_charts_show_formulas_with_their_scripts(self):
        found = re.findall(r"<tspan[^>]*>([^<]*)</tspan>", charts.drawn("a_q^C = W' a~q - tau"))
        self.assertEqual(found, ["a", "q", "C", " = W&#x27; a\u0303", "q", " \u2212 τ"])
        self.assertEqual(self.heights("a_q^C = W' a~q - tau"), [0, 4, -5, 0, 4, 0])
        self.assertNotEqual(self.heights("aqC = W' aq - tau"), [0, 4, -5, 0, 4, 0])
        for chart, _ in charts.charts(ROOT):
            for row in chart["row"]:
                for formula in [*row.get("formulas", ()), *([row["holds"]] if "holds" in row else [])]:
                    self.assertTrue(self.says(charts.drawn(formula), formula), formula)
        self.assertFalse(self.says(charts.drawn("a_q + r"), "a_q - r"))

    @staticmethod
    def heights(formula):
        """How far below its line each part of a formula of a chart stands."""
        moves = re.findall(r"<tspan[^>]*?(?: dy=\"(-?[0-9]+)\")?>", charts.drawn(formula))
        return list(itertools.accumulate(int(move or 0) for move in moves))

    @staticmethod
    def says(shown, formula):
        """Whether a formula of a chart has the letters and signs of its source, in order."""
        text = html.unescape(re.sub(r"<[^>]*>|\u0303", "", shown))
        text = "".join(formulas.BACK.get(letter, letter) for letter in text)
        return re.sub(r"[\s()]", "", text) == re.sub(r"[\s_^()~]", "", formula)

    def test_exceptions_of_aarch64_are_in_badges(self):
        soundness = (ROOT / "proofs/SOUNDNESS.md").read_text()
        kernels = status.Kernels(soundness)
        done, total, any_size = kernels.rows["portable on AArch64"]
        backend = (ROOT / "optimized/kernels/leaf/neon/backend.cpp").read_text()
        own = set(re.findall(r"\.(\w+) = \1,", backend))
        self.assertEqual(len(own), kernels.rows["neon on AArch64"][1])
        # Of those that neon has itself the portable ones may be proved too.
        self.assertEqual(done - len(own & any_size), total - len(own) - len(kernels.unproved))
        said = ("* AArch64: the kernels that the neon backend has or takes from the portable one are\n"
                "proved as g++ builds them, but for `sample` and\n  `below`; no code of others")
        self.assertEqual(status.unproved_on_aarch64(said), {"sample", "below"})
        self.assertIsNone(status.unproved_on_aarch64("* AArch64: nothing is proved but `sample`; no code"))
        but = "g++ builds them, but for\n  `sample`;"
        doubted = status.Kernels(soundness.replace("g++ builds them;", but))
        self.assertEqual(doubted.of("portable on AArch64", "sample"), ("tested", "not proved: tested"))
        right = ('<code>sample</code>, portable C++ on AArch64 <span class="badge machine">'
                 "proved at listed sizes")
        pages = self.changed("clause/RAND-2.html", re.escape(right), right.replace("at listed", "of any"))
        self.refused(verify.badges(pages, ROOT), "does not say of sample on portable C++ on AArch64")
        proved = 'portable C++ on AArch64 <span class="badge machine">'
        self.assertIn(proved, self.pages["clause/MASK-4.html"])

    def test_questions_are_answered_within_two_links(self):
        for question, ways, section, sentence in QUESTIONS:
            with self.subTest(question):
                self.assertTrue(answers(self.pages, ways, section, sentence))
                at = led_to(self.pages, ways)
                pages = self.changed(at, f'id="{section}"', 'id="elsewhere"')
                self.assertFalse(answers(pages, ways, section, sentence))
                self.assertFalse(answers(self.pages, ["Measurements"], section, sentence))
        _, ways, section, sentence = QUESTIONS[-1]
        pages = self.changed("spec/integrity.html", sentence, "no claims fall")
        self.assertFalse(answers(pages, ways, section, sentence))

    def test_formulas_that_say_something_else_are_refused(self):
        pages = self.changed("clause/MASK-3.html", "<mi>r</mi>", "<mi>s</mi>")
        self.refused(verify.shown_formulas(pages), "does not say")
        math = formulas.mathml("2^e_i")
        self.assertTrue(formulas.agrees(math), math)
        self.assertFalse(formulas.agrees(formulas.mathml("2^(e - 1)").replace("−", "+")))
        for text in ("gemm", "--jobs 1", "a.b", "x[", "slip split", "||", "-", "="):
            self.assertIsNone(formulas.mathml(text), text)
        self.assertIn("<math>", formulas.block("c = W_D r mod L    for the reply\n"))
        self.assertIsNone(formulas.block("key = SHA-256(secret)\nall = a || b\n"))
        event = formulas.mathml("Pr[a wrong reply is accepted]", any_name=True)
        self.assertIn("<mtext>a wrong reply is accepted</mtext>", event)
        self.assertFalse(formulas.agrees(event.replace("accepted</mtext>", "refused</mtext>")))
        self.assertIn("<mi>r</mi>", formulas.mathml("Pr[r = x]", any_name=True))
        self.assertIn("<mn>4</mn>", formulas.mathml("LIN(4i, a)", any_name=True))
        self.assertIsNone(formulas.mathml("4k"))
        several = formulas.block("Pr[a reply is wrong]  <=  Q p_min^-8\n")
        self.assertEqual(several.count("<math>"), 3)


class Opened:
    """A book, and a browser to open it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.book = build(cls.folder)
        opened = browser.browser()
        cls.driver = opened.__enter__()
        cls.addClassCleanup(opened.__exit__, None, None, None)

    def show(self, address, where="desk", scheme="light"):
        browser.show(self.driver, f"{self.book.as_uri()}/{address}", where, scheme)

    def faults(self, address, views=browser.VIEWS):
        """What is wrong with a page; the views of one width are of a page that is opened once."""
        faults, width = [], None
        for where, scheme in views:
            if where == width:
                browser.emulate(self.driver, where, scheme)
            else:
                self.show(address, where, scheme)
                self.driver.execute_script(
                    "document.querySelectorAll('details').forEach(one => one.open = true)")
            width = where
            faults += browser.faults_of_text(self.driver, where, scheme, folder=self.book)
            faults += browser.faults_of_contrast(self.driver, f"{where}, {scheme}")
        return faults


@unittest.skipUnless(PANDOC, "not installed: pandoc")
@unittest.skipIf(browser.MISSING, f"not installed: {browser.MISSING}")
class BookInBrowser(Opened, SystemTest):
    def test_every_kind_of_page_is_in_order(self):
        for address in PAGES:
            with self.subTest(address):
                self.assertEqual(self.faults(address), [])
        self.assertEqual(browser.faults_of_print(self.driver), [])

    def test_formulas_are_drawn(self):
        """As MathML, what stands below a letter below it, and what stands above it above it."""
        self.show("clause/MASK-3.html")
        tops = self.driver.execute_script("""
            const math = document.querySelector('#text table.formulas math');
            const top = each => each.getBoundingClientRect().bottom;
            const sub = math.querySelector('msub');
            const below = top(sub.children[1]) - top(sub.children[0]);
            return [math.namespaceURI, math.getBoundingClientRect().width, below];
            """)
        self.assertEqual(tops[0], "http://www.w3.org/1998/Math/MathML")
        self.assertGreater(tops[1], 40)
        self.assertGreater(tops[2], 0.5)  # 0.9 without a font for mathematics; 0 where nothing is lowered

    def found(self, question):
        """The addresses that the search finds for a question, the best first."""
        self.show("search.html?q=" + urllib.parse.quote(question))
        prefix = self.book.as_uri() + "/"
        return self.driver.execute_script(
            "return [...document.querySelectorAll('#results a')].map(link => link.href.slice(arguments[0]));",
            len(prefix))

    def test_questions_are_answered_by_the_search(self):
        pages = verify.load(self.book)
        for question, ways, section, _ in QUESTIONS:
            at = led_to(pages, ways)
            right = at if at.startswith("clause/") else f"{at}#{section}"
            with self.subTest(question):
                self.assertIn(right, self.found(question)[:3])
        script = self.book / "search.html"
        script.write_text(script.read_text().replace("!common.has(word)", "true", 1))
        self.assertNotIn("spec/threat-model.html#what-david-learns", self.found(QUESTIONS[2][0])[:3])

    def focused(self):
        """The class, the name and the id of what has the focus."""
        return self.driver.execute_script(
            "const it = document.activeElement; return [it.className, it.name || '', it.id];")

    def press(self, key):
        self.driver.switch_to.active_element.send_keys(key)

    def reaches_search(self):
        """Whether the key that goes from link to link comes to the search within those of the head."""
        for _ in range(10):
            self.press(Keys.TAB)
            if self.focused()[1] == "q":
                return True
        return False

    def test_keys_lead_to_the_text_and_to_the_search(self):
        self.show("clause/MASK-3.html")
        self.press(Keys.TAB)
        self.assertEqual(self.focused()[0], "skip")
        self.press(Keys.ENTER)
        self.assertEqual(self.focused()[2], "main")
        self.show("spec/masking.html")
        self.assertTrue(self.reaches_search())
        self.press("cancellation" + Keys.ENTER)
        self.assertIn("search.html?q=cancellation", self.driver.current_url)
        found = [link.text for link in self.driver.find_elements("css selector", "#results a")]
        self.assertIn("MASK-3 Cancellation", found[:3])

    def test_wrong_books_are_refused(self):
        style, page = self.book / "style.css", self.book / "clause/MASK-3.html"
        light, dark = ("phone", "light"), ("phone", "dark")
        for path, old, new, view, said in [
                (style, "--soft: #5a5f6b", "--soft: #a0a5b1", light, "light: too little contrast"),
                (style, "--link: #8fbef0", "--link: #1d5086", dark, "dark: too little contrast"),
                (style, ".scroll { overflow-x: auto;", ".scroll { min-width: 700px;", light, "wider than"),
                (page, "</body>", "<script>throw new Error('x')</script></body>", light, "the console says"),
                (page, "</body>", "<img alt='' src='file:///dev/null'></body>", light, "asks for")]:
            right = path.read_text()
            self.assertIn(old, right)
            path.write_text(right.replace(old, new, 1))
            with self.subTest(new):
                self.assertIn(said, "\n".join(self.faults("clause/MASK-3.html", [view])))
            path.write_text(right)
        page.write_text(page.read_text().replace('<input name="q"', '<input tabindex="-1" name="q"'))
        self.show("clause/MASK-3.html")
        self.assertFalse(self.reaches_search())


@unittest.skipUnless(PANDOC, "not installed: pandoc")
@unittest.skipIf(browser.MISSING, f"not installed: {browser.MISSING}")
@unittest.skipUnless("SLIP_FULL" in os.environ, "hundreds of pages")
class WholeBookInBrowser(Opened, SystemTest):
    def test_every_page_is_in_order(self):
        """But for pages of sources, which are alike."""
        pages = [path.relative_to(self.book).as_posix() for path in sorted(self.book.rglob("*.html"))]
        shown = [address for address in pages if not address.startswith("source/")]
        self.assertGreater(len(shown), 200)
        for address in shown:
            with self.subTest(address):
                self.assertEqual(self.faults(address), [])


if __name__ == "__main__":
    unittest.main()
