// Entries are [title, kind, address, words]. Words that are asked for begin words of an entry, all but one of three.
// Of a question, the words that any question has are not asked for.
const input = document.getElementById("q");
const results = document.getElementById("results");
const weights = { clause: 4, theorem: 2, symbol: 3, word: 3, paper: 2, document: 2 };
const entries = index.map(([title, kind, address, words]) =>
  ({ title, kind, address, words, small: title.toLowerCase(), all: (title + " " + words).toLowerCase() }));
const common = new Set(("a an and are at be by can do does for from how i if in is it its my of on or that the this to " +
  "was what when where which who why with").split(" "));

// How many of the words an entry has, and how much it is about them.
function score(entry, asked) {
  let had = 0, points = weights[entry.kind] || 1;
  for (const word of asked) {
    if (entry.all.search(new RegExp("(^|[^a-z0-9])" + word.replace(/[^a-z0-9]/g, "\\$&"))) < 0) continue;
    had += 1;
    if (entry.small.includes(word)) points += entry.small.startsWith(word) ? 20 : 10;
    points += Math.min(5, entry.all.split(word).length - 1);
  }
  return [had, points];
}

function excerpt(entry, word) {
  const at = Math.max(0, entry.words.toLowerCase().indexOf(word) - 60);
  return (at ? "... " : "") + entry.words.slice(at, at + 200);
}

function search() {
  const words = input.value.toLowerCase().replace(/[?!,]/g, " ").split(/\s+/).filter(word => word);
  const told = words.filter(word => !common.has(word)), asked = told.length ? told : words;
  const needed = asked.length > 2 ? asked.length - 1 : asked.length;
  const found = entries.map(entry => [...score(entry, asked), entry]).filter(([had]) => had && had >= needed);
  found.sort((a, b) => b[0] - a[0] || b[1] - a[1]);
  results.replaceChildren(...found.slice(0, 60).map(([, , entry]) => {
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
