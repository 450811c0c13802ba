#include "reference/vectors/document.hpp"

namespace slip::reference::vectors {

void edges(Document& document) {
    encoding_edges(document);
    ring_edges(document, paper());
    integrity_edges(document, paper());
    wire_edges(document, paper());
    session_edges(document, paper());
}

}  // namespace slip::reference::vectors
