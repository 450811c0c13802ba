#include "reference/vectors/document.hpp"

namespace slip::reference::vectors {

void edges(Document& document) {
    encoding_edges(document);
    for (const Profile& profile : {p31(), p61()}) {
        ring_edges(document, profile);
        integrity_edges(document, profile);
        wire_edges(document, profile);
        session_edges(document, profile);
    }
}

}  // namespace slip::reference::vectors
