"""Opens a page in headless Chromium and says what is wrong with it."""

import base64
import contextlib
import json
import os
import shutil
import unittest

try:
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
except ImportError:
    webdriver = None

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
# Why no page can be opened here; empty if one can.
MISSING = ", ".join(name for name, found in [
    ("chromium", CHROMIUM), ("chromium-driver", DRIVER), ("python3-selenium", webdriver)] if not found)
WIDTHS = {"phone": 360, "desk": 1280}  # pixels across
VIEWS = [(where, scheme) for where in WIDTHS for scheme in ("light", "dark")]

# Of every chart: how large it and its letters are, how much is drawn, whether all of that is inside, and
# whether anything but a mark is filled.
CHARTS = """
return [...document.querySelectorAll('svg.chart')].map(svg => {
  const box = svg.getBoundingClientRect();
  const drawn = [...svg.querySelectorAll('.mark, .line, .bar')];
  const inside = drawn.every(each => { const own = each.getBoundingClientRect();
    return own.left >= box.left - 2 && own.right <= box.right + 2 && own.top >= box.top - 2
        && own.bottom <= box.bottom + 2; });
  const black = [...svg.querySelectorAll('path')].some(path => !path.classList.contains('mark')
    && getComputedStyle(path).fill !== 'none');
  const letters = Math.min(...[...svg.querySelectorAll('text')].map(text =>
    parseFloat(getComputedStyle(text).fontSize) * box.width / svg.viewBox.baseVal.width));
  return {name: svg.getAttribute('aria-label'), width: box.width, drawn: drawn.length, inside, black,
          letters};
});
"""
# What is wider than the page, unless it stands in what can be scrolled by itself.
WIDE = """
function scrolled(each) {
  for (let at = each.parentElement; at !== document.body && at; at = at.parentElement)
    if (/auto|scroll/.test(getComputedStyle(at).overflowX)) return true;
  return false;
}
return [...document.querySelectorAll('body *')].filter(each =>
  each.getBoundingClientRect().right > document.documentElement.clientWidth + 1 && !scrolled(each))
  .map(each => each.tagName);
"""
COLOURS = """
const rgb = text => text.match(/[0-9.]+/g).slice(0, 3).map(Number);
const light = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
const style = getComputedStyle(document.body);
return [light(rgb(style.backgroundColor)), light(rgb(style.color))];
"""

# What is harder to read than WCAG 2 allows at level AA: the contrast of each text with what is drawn behind
# it, 4.5 or, for large letters, 3. Says the element, its beginning and the contrast.
CONTRAST = """
function rgba(text) {
  const all = text.match(/[0-9.]+/g).map(Number);
  return [...all.slice(0, 3), all[3] ?? 1];
}
const part = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
function behind(each) {
  for (let at = each; at; at = at.parentElement) {
    if (at instanceof SVGElement) continue;
    const colour = rgba(getComputedStyle(at).backgroundColor);
    if (colour[3] === 1) return colour;
  }
  return [255, 255, 255, 1];
}
const faults = new Map();
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const each = walker.currentNode.parentElement, text = walker.currentNode.textContent.trim();
  if (!text || !each.getClientRects().length || each.closest('script, annotation')) continue;
  const style = getComputedStyle(each), size = parseFloat(style.fontSize);
  const ink = rgba(each instanceof SVGElement ? style.fill : style.color);
  const [high, low] = [light(ink), light(behind(each))].sort((a, b) => b - a);
  const found = (high + 0.05) / (low + 0.05);
  const large = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
  if (found < (large ? 3 : 4.5))
    faults.set(each.tagName + '.' + each.className, `${text.slice(0, 30)}: ${found.toFixed(2)}`);
}
return [...faults].map(([name, said]) => name + ' ' + said);
"""


@contextlib.contextmanager
def browser():
    """A headless Chromium; where it cannot start, the test or the class is skipped."""
    options = Options()
    options.binary_location = CHROMIUM
    arguments = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage"]
    for argument in arguments + (["--no-sandbox"] if os.geteuid() == 0 else []):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    try:
        driver = webdriver.Chrome(service=Service(DRIVER), options=options)
    except WebDriverException as error:
        raise unittest.SkipTest(f"Chromium cannot start: {str(error).splitlines()[0]}") from error
    try:
        yield driver
    finally:
        driver.quit()


def emulate(driver, where, scheme):
    """Changes the width and the scheme, also of a page that is shown."""
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": WIDTHS[where], "height": 844, "deviceScaleFactor": 1, "mobile": where == "phone"})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "features": [{"name": "prefers-color-scheme", "value": scheme}]})


def show(driver, page, where, scheme):
    emulate(driver, where, scheme)
    driver.get(page if isinstance(page, str) else page.as_uri())


def requests(driver):
    """The addresses of all that was asked for since the last time."""
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [event["params"]["request"]["url"] for event in events
            if event["method"] == "Network.requestWillBeSent"]


def faults_of_text(driver, where, scheme, server=None, folder=None):
    """What is wrong with the page that is shown, charts aside. It may ask `server` alone, and for files of
    `folder`, if any."""
    faults = [f"{where}: the console says {entry['message']}" for entry in driver.get_log("browser")]
    faults += [f"{where}: asks for {url}" for url in requests(driver)
               if url != driver.current_url and not url.startswith("data:")
               and not (server and url.startswith(f"http://{server}/"))
               and not (folder and url.startswith(folder.as_uri() + "/"))]
    faults += [f"{where}: a {name} is wider than the page" for name in driver.execute_script(WIDE)]
    paper, ink = driver.execute_script(COLOURS)
    if abs(paper - ink) < 120 or (paper > ink) != (scheme == "light"):
        faults.append(f"{where}: text of lightness {ink:.0f} on {paper:.0f}")
    return faults


def faults_of_contrast(driver, where):
    return [f"{where}: too little contrast: {found}" for found in driver.execute_script(CONTRAST)]


def faults_of_view(driver, where, scheme):
    faults = faults_of_text(driver, where, scheme)
    charts = driver.execute_script(CHARTS)
    if not charts:
        faults.append(f"{where}: no chart")
    for chart in charts:
        for wrong, what in [(chart["width"] < 250, "is too narrow"), (chart["drawn"] == 0, "is empty"),
                            (not chart["inside"], "draws beyond its edge"), (chart["black"], "fills a line"),
                            (chart["letters"] < 10.5, "has letters that are too small")]:
            if wrong:
                faults.append(f"{where}: the chart '{chart['name']}' {what}")
    return faults


def faults_of_print(driver):
    """Of the page as a PDF, on A4."""
    data = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", {
        "paperWidth": 8.27, "paperHeight": 11.69})["data"])
    return [] if data.startswith(b"%PDF") and len(data) > 10_000 else ["print: no PDF"]


def faults_of(driver, page, views=VIEWS):
    """All that is wrong with a page in these views, and in print."""
    faults = []
    for where, scheme in views:
        show(driver, page, where, scheme)
        faults += faults_of_view(driver, f"{where}, {scheme}", scheme)
    return faults + faults_of_print(driver)
