#include "reference/vectors/document.hpp"

namespace slip::reference::vectors {

void edges(Document& document) {
    encoding_edges(document);
    ring_edges(document, p31());
    integrity_edges(document, p31());
    wire_edges(document, p31());
    session_edges(document, p31());
}

}  // namespace slip::reference::vectors
