"""The search page: an index and a script in the page itself, so that it works without a server."""

import json

from book import pages


def add(book):
    """Adds the page, when everything else has been listed. "</" never stands in it."""
    found = [[title, kind, address, words[:8000]] for title, kind, address, words in book.found]
    index = json.dumps(found, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    script = (pages.TEMPLATES / "search.js").read_text()
    book.add("search.html", "Search",
             '<h1>Search</h1><form role="search"><label>Words <input id="q" name="q" type="search" autofocus>'
             '</label></form><p id="count" role="status"></p><ol id="results"></ol>'
             '<noscript><p>The search needs JavaScript. The <a href="book:indexes.html">indexes</a> do not.'
             f"</p></noscript><script>const index = {index};\n{script}</script>")
