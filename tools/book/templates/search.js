// Entries are [title, kind, address, words]. Every word that is asked for must begin a word of an entry.
const input = document.getElementById("q");
const results = document.getElementById("results");
const weights = { clause: 4, theorem: 2, symbol: 3, word: 3, paper: 2, document: 2 };
const entries = index.map(([title, kind, address, words]) =>
  ({ title, kind, address, words, small: title.toLowerCase(), all: (title + " " + words).toLowerCase() }));

function score(entry, asked) {
  let sum = weights[entry.kind] || 1;
  for (const word of asked) {
    const at = entry.all.search(new RegExp("(^|[^a-z0-9])" + word.replace(/[^a-z0-9]/g, "\\$&")));
    if (at < 0) return 0;
    if (entry.small.includes(word)) sum += entry.small.startsWith(word) ? 20 : 10;
    sum += Math.min(5, entry.all.split(word).length - 1);
  }
  return sum;
}

function excerpt(entry, word) {
  const at = Math.max(0, entry.words.toLowerCase().indexOf(word) - 60);
  return (at ? "... " : "") + entry.words.slice(at, at + 200);
}

function search() {
  const asked = input.value.toLowerCase().split(/\s+/).filter(word => word);
  const found = asked.length ? entries.map(entry => [score(entry, asked), entry]).filter(([points]) => points) : [];
  found.sort((a, b) => b[0] - a[0]);
  results.replaceChildren(...found.slice(0, 60).map(([, entry]) => {
    const item = document.createElement("li"), link = document.createElement("a"), text = document.createElement("p");
    link.href = entry.address;
    link.textContent = entry.title;
    text.textContent = entry.kind + ": " + excerpt(entry, asked[0]);
    item.append(link, text);
    return item;
  }));
  document.getElementById("count").textContent = asked.length ? `${found.length} found` : "";
}

input.value = new URLSearchParams(location.search).get("q") || "";
input.addEventListener("input", search);
search();
