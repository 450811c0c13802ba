#include "reference/convolution.hpp"

#include "reference/integrity.hpp"
#include "reference/masking.hpp"
#include "reference/vectors/document.hpp"

namespace slip::reference::vectors {

namespace {

Json json_of(const ConvolutionShape& shape) {
    return object({{"H", json(Integer(shape.H))},
                   {"W", json(Integer(shape.W))},
                   {"C", json(Integer(shape.C))},
                   {"kH", json(Integer(shape.kH))},
                   {"kW", json(Integer(shape.kW))},
                   {"N", json(Integer(shape.N))},
                   {"stride", json(Integer(shape.stride))},
                   {"padding", json(Integer(shape.padding))}});
}

const std::vector<ConvolutionShape>& shapes() {
    static const std::vector<ConvolutionShape> list{{2, 3, 1, 2, 2, 1},
                                                    {4, 4, 2, 3, 3, 2},
                                                    {3, 5, 1, 3, 3, 2, 1, 1},
                                                    {5, 4, 2, 2, 3, 3, 2, 1},
                                                    {3, 3, 2, 1, 1, 3}};
    return list;
}

void add_forms(Document& document) {
    Numbers& numbers = document.numbers();
    for (const ConvolutionShape& shape : shapes()) {
        const Matrix kernel = numbers.matrix(shape.N, shape.patch(), -9, 9);
        const Vector x = numbers.vector(shape.inputs(), -99, 99);
        const Fields input{{"shape", json_of(shape)}, {"kernel", json(kernel)}, {"x", json(x)}};
        document.begin_group("convolve", {"convolution"});
        document.add({.clause = "CNN-1",
                      .requirement = "O MUST be the sum over the window, with zeros outside",
                      .comment = "vec(X) to vec(O)",
                      .flags = {"PADDING"},
                      .input = input,
                      .output = {{"o", json(convolve(shape, kernel, x))}}});
        document.begin_group("patches", {"convolution"});
        document.add({.clause = "CNN-3",
                      .requirement = "column i W_o + j MUST hold the inputs under window (i, j)",
                      .comment = "the patch matrix, by rows",
                      .flags = {"ORDER"},
                      .input = {{"shape", json_of(shape)}, {"x", json(x)}},
                      .output = {{"patches", json(patches(shape, x))}}});
        if (shape.inputs() > 20) continue;
        document.begin_group("dense_matrix", {"convolution"});
        document.add({.clause = "CNN-2",
                      .requirement = "the dense matrix MUST hold K[u][v][c][n] where the window "
                                     "of the output meets the input",
                      .comment = "the equivalent fully connected layer",
                      .flags = {"ORDER"},
                      .input = {{"shape", json_of(shape)}, {"kernel", json(kernel)}},
                      .output = {{"W", json(dense_matrix(shape, kernel))}}});
    }
}

void add_exchanges(Document& document, const ParameterSet& set) {
    const Ring& ring = set.ring();
    const Integer L = set.ring().modulus();
    Numbers& numbers = document.numbers();
    document.begin_group("convolution_exchange", {"convolution"}, set);
    for (const ConvolutionShape& shape : shapes()) {
        const Matrix kernel = numbers.matrix(shape.N, shape.patch(), -127, 127);
        const Vector q = numbers.vector(shape.inputs(), -4000, 4000);
        const Vector r = numbers.vector(shape.inputs(), 0, L - 1);
        const Vector x = mask(ring, q, r);
        const Vector y = davids_convolution(ring, shape, kernel, x);
        const Vector c = davids_convolution(ring, shape, kernel, r);
        document.add({.clause = "CNN-4",
                      .requirement = "the image MUST be masked, and the padding not; c MUST be the "
                                     "convolution of the mask",
                      .comment = "one exchange",
                      .flags = {"PADDING"},
                      .input = {{"shape", json_of(shape)},
                                {"kernel", json(kernel)},
                                {"q", json(q)},
                                {"r", column(set, r)}},
                      .output = {{"x_masked", column(set, x)},
                                 {"y_masked", column(set, y)},
                                 {"c", column(set, c)},
                                 {"y_D", json(unmask(ring, y, c))}}});
    }
    document.begin_group("convolution_check", {"convolution"}, set);
    const ConvolutionShape shape{3, 4, 2, 2, 2, 3, 1, 1};
    const Matrix kernel = numbers.matrix(shape.N, shape.patch(), -127, 127);
    const CheckSecret secret =
        draw_check_secret(set.planes, numbers.key(), kernel, set.combinations);
    const Vector x = numbers.vector(shape.inputs(), 0, L - 1);
    const Vector y = davids_convolution(ring, shape, kernel, x);
    Vector one_plane(set.planes.count(), 0);
    one_plane.back() = 1;
    const auto check = [&](const char* comment, std::size_t position, const Integer& error) {
        Vector reply = y;
        reply[position] = ring.embed(reply[position] + error);
        Case entry{.clause = "CNN-4",
                   .requirement = "each output position MUST satisfy w^T y~ = s^T patch(x~)",
                   .comment = comment,
                   .flags = {"WRONG_REPLY"},
                   .input = {{"shape", json_of(shape)},
                             {"w", combinations(secret, &IntegrityKey::w)},
                             {"s", combinations(secret, &IntegrityKey::s)},
                             {"x_masked", column(set, x)},
                             {"y_masked", column(set, reply)}}};
        if (error != 0) entry.failure = Failure{"integrity check", "CNN-4"};
        document.add(entry);
    };
    check("the right reply", 0, 0);
    check("the first output is wrong", 0, 1);
    check("the last output is wrong", y.size() - 1, -1);
    check("an output is wrong in the last plane", 4, set.planes.join(one_plane));
}

}  // namespace

void convolution(Document& document) {
    add_forms(document);
    for (const ParameterSet& set : {paper(), paper_lattice()}) add_exchanges(document, set);
}

}  // namespace slip::reference::vectors
