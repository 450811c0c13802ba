"""Opens a page in headless Chromium and says what is wrong with it."""

import base64
import contextlib
import json
import os
import shutil

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
except ImportError:
    webdriver = None

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
# Why no page can be opened here; empty if one can.
MISSING = ", ".join(name for name, found in [
    ("chromium", CHROMIUM), ("chromium-driver", DRIVER), ("python3-selenium", webdriver)] if not found)
WIDTHS = {"phone": 360, "desk": 1200}  # pixels across
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
# What is wider than the page, unless it can be scrolled by itself.
WIDE = """
return [...document.querySelectorAll('body *')].filter(each =>
  each.getBoundingClientRect().right > document.documentElement.clientWidth + 1 && !each.closest('.scroll'))
  .map(each => each.tagName);
"""
COLOURS = """
const rgb = text => text.match(/[0-9.]+/g).slice(0, 3).map(Number);
const light = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
const style = getComputedStyle(document.body);
return [light(rgb(style.backgroundColor)), light(rgb(style.color))];
"""


@contextlib.contextmanager
def browser():
    """A headless Chromium."""
    options = Options()
    options.binary_location = CHROMIUM
    arguments = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage"]
    for argument in arguments + (["--no-sandbox"] if os.geteuid() == 0 else []):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(service=Service(DRIVER), options=options)
    try:
        yield driver
    finally:
        driver.quit()


def show(driver, page, where, scheme):
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": WIDTHS[where], "height": 844, "deviceScaleFactor": 1, "mobile": where == "phone"})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "features": [{"name": "prefers-color-scheme", "value": scheme}]})
    driver.get(page if isinstance(page, str) else page.as_uri())


def requests(driver):
    """The addresses of all that was asked for since the last time."""
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [event["params"]["request"]["url"] for event in events
            if event["method"] == "Network.requestWillBeSent"]


def faults_of_text(driver, where, scheme, server=None):
    """What is wrong with the page that is shown, charts aside. It may ask `server` alone, if any."""
    faults = [f"{where}: the console says {entry['message']}" for entry in driver.get_log("browser")]
    faults += [f"{where}: asks for {url}" for url in requests(driver)
               if url != driver.current_url and not url.startswith("data:")
               and not (server and url.startswith(f"http://{server}/"))]
    faults += [f"{where}: a {name} is wider than the page" for name in driver.execute_script(WIDE)]
    paper, ink = driver.execute_script(COLOURS)
    if abs(paper - ink) < 120 or (paper > ink) != (scheme == "light"):
        faults.append(f"{where}: text of lightness {ink:.0f} on {paper:.0f}")
    return faults


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
