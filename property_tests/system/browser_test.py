"""The report in headless Chromium: drawn, quiet, readable on a phone and in print; wrong pages are
refused."""
# test: once

import os
import pathlib
import subprocess
import sys
import unittest

import browser
from serve_client import Served
from slip_system import ROOT, TINYSTORIES, SystemTest


class Report:
    """The page of measurements, and a browser to open it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.page = cls.folder / "report.html"
        subprocess.run([sys.executable, ROOT / "experiments/report", "--out", cls.page], check=True,
                       stdout=subprocess.DEVNULL)
        opened = browser.browser()
        cls.driver = opened.__enter__()
        cls.addClassCleanup(opened.__exit__, None, None, None)

    def faults(self, name, *changes, views=browser.VIEWS):
        """Of the page with these (old, new) changes."""
        text = self.page.read_text()
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new, 1)
        path = pathlib.Path(self.folder / f"{name}.html")
        path.write_text(text)
        return browser.faults_of(self.driver, path, views)


@unittest.skipIf(browser.MISSING, f"not installed: {browser.MISSING}")
class Browser(Report, SystemTest):
    def test_the_report_is_in_order(self):
        self.assertEqual(self.faults("right"), [])

    def test_a_page_without_charts_is_refused(self):
        path = self.folder / "empty.html"
        path.write_text("<!DOCTYPE html><title>x</title><p>nothing")
        self.assertIn("no chart", "\n".join(browser.faults_of(self.driver, path, [("desk", "light")])))


@unittest.skipIf(browser.MISSING, f"not installed: {browser.MISSING}")
@unittest.skipUnless("SLIP_FULL" in os.environ, "seven pages")
class WrongReports(Report, SystemTest):
    def test_wrong_pages_are_refused(self):
        for name, said, *changes in [
                ("script", "the console says", ("</body>", "<script>throw new Error('x')</script></body>")),
                ("request", "asks for", ("</body>", "<img src='file:///dev/null'></body>")),
                ("wide", "phone, light: a P is wider", ("</body>", "<p style='width: 700px'>x</p></body>")),
                ("black", "fills a line", (".axis { fill: none;", ".axis {")),
                ("dark", "dark: text of lightness", ("color-scheme: dark", "color-scheme: sepia")),
                ("edge", "draws beyond its edge", ('class="mark s0" d="M', 'class="mark s0" d="M900 9L')),
                ("small", "letters that are too small", ("font-size: 12px", "font-size: 8px"))]:
            with self.subTest(name):
                views = [("phone", "dark" if name == "dark" else "light")]
                self.assertIn(said, "\n".join(self.faults(name, *changes, views=views)))


@unittest.skipIf(browser.MISSING, f"not installed: {browser.MISSING}")
@unittest.skipUnless("SLIP_FULL" in os.environ, "a server and four views")
class ServedPage(SystemTest):
    """The page of `slip serve`: its figures, which it renews, and the box to ask in (SERVE-12)."""

    @staticmethod
    def shown(driver, selector):
        """The text of an element, at one moment of a page that loads itself anew."""
        return driver.execute_script(f"return document.querySelector('{selector}')?.textContent")

    def test_the_page_is_in_order_and_loads_itself_anew(self):
        with Served("--model", TINYSTORIES, "--engine", "float", "--model-name", "<tiny>") as served, \
                browser.browser() as driver:
            page = f"http://{served.endpoint}/"
            for where, scheme in browser.VIEWS:
                browser.show(driver, page, where, scheme)
                self.assertEqual(browser.faults_of_text(driver, where, scheme, served.endpoint), [])
            self.assertEqual(self.shown(driver, "h1"), "<tiny>")
            self.assertEqual(self.shown(driver, "#generated"), "0")
            served.post("text", {"model": "<tiny>", "prompt": "Once", "max_tokens": 5, "temperature": 0})
            served.wait_for(lambda: self.shown(driver, "#generated") == "5")

    def test_a_question_is_asked_in_the_page(self):
        with Served("--model", TINYSTORIES, "--engine", "float", "--model-name", "tiny", "--chat-format",
                    "llama2") as served, browser.browser() as driver:
            driver.get(f"http://{served.endpoint}/")
            driver.find_element("id", "text").send_keys("Tell me a story.\n")
            answer = "#talk .answer"
            served.wait_for(lambda: len(self.shown(driver, answer) or "") > 40
                            and driver.find_element("css selector", "button").is_enabled())
            self.assertEqual(self.shown(driver, "#talk .asked"), "Tell me a story.")
            self.assertEqual(driver.find_elements("css selector", "#talk .bad"), [])
            self.assertEqual(browser.faults_of_text(driver, "desk", "light", served.endpoint), [])

    def test_a_script_in_the_page_is_not_run(self):
        with Served("--model", TINYSTORIES, "--engine", "float") as served, browser.browser() as driver:
            driver.get(f"http://{served.endpoint}/")
            driver.execute_script("const each = document.createElement('script');"
                                  "each.textContent = 'window.ran = true'; document.body.append(each);")
            self.assertIsNone(driver.execute_script("return window.ran || null"))


if __name__ == "__main__":
    unittest.main()
