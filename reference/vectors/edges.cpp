#include "reference/vectors/document.hpp"

namespace slip::reference::vectors {

void edges(Document& document) {
    encoding_edges(document);
    ring_edges(document, paper());
    integrity_edges(document, paper());
    wire_edges(document, paper());
    session_edges(document, paper());
    for (const auto part : {ring_edges, integrity_edges, wire_edges, session_edges}) {
        part(document, paper_lattice());
    }
}

}  // namespace slip::reference::vectors
