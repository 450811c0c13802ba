// Lists of numbers: filled in the ways that find most defects, and drawn through RapidCheck, so
// that a counterexample shrinks to few entries that are not zero.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ostream>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

namespace slip::testing {

/// What a matrix or a vector is filled with.
enum class Fill { zeros, one_hot, smallest, largest, extremes, random };
inline constexpr Fill all_fills[] = {Fill::zeros,   Fill::one_hot,  Fill::smallest,
                                     Fill::largest, Fill::extremes, Fill::random};

/// A number in least .. most.
template <class T>
T uniform(std::mt19937_64& random, T least, T most) {
    using Wide = std::conditional_t<std::is_unsigned_v<T>, std::uint64_t, std::int64_t>;
    return static_cast<T>(std::uniform_int_distribution<Wide>(static_cast<Wide>(least),
                                                              static_cast<Wide>(most))(random));
}

/// Where Fill::one_hot puts its entry: first, last or anywhere, a third of the time each. Kernels
/// err at the ends, and an end stays an end while the sizes of a counterexample shrink.
inline std::size_t hot_place(std::size_t count, std::mt19937_64& random) {
    const std::uint64_t draw = random();
    if (draw % 3 == 0) return 0;
    return draw % 3 == 1 ? count - 1 : draw / 3 % count;
}

/// `count` numbers in least .. most; Fill::extremes chooses from `edges`.
template <class T>
std::vector<T> fill(Fill kind, std::size_t count, T least, T most,
                    const std::vector<std::type_identity_t<T>>& edges, std::mt19937_64& random) {
    std::vector<T> values(count, T{0});
    if (kind == Fill::one_hot && count > 0) values[hot_place(count, random)] = most;
    for (T& value : values) {
        if (kind == Fill::smallest) value = least;
        if (kind == Fill::largest) value = most;
        if (kind == Fill::extremes) value = edges[random() % edges.size()];
        if (kind == Fill::random) value = uniform(random, least, most);
    }
    return values;
}

template <class T>
std::vector<T> fill(Fill kind, std::size_t count, T least, T most, std::mt19937_64& random) {
    return fill<T>(kind, count, least, most, {least, most}, random);
}

/// A list that RapidCheck prints in one line, equal neighbours as "value x times".
template <class T>
struct List : std::vector<T> {
    using std::vector<T>::vector;
    List(std::vector<T> values) : std::vector<T>(std::move(values)) {}
};

template <class T>
void showValue(const List<T>& list, std::ostream& os) {
    os << "{";
    for (auto first = list.begin(); first != list.end();) {
        auto last = std::next(first);
        while (last != list.end() && *last == *first) ++last;
        os << (first == list.begin() ? "" : ", ") << +*first;
        if (last - first > 1) os << " x " << last - first;
        first = last;
    }
    os << "}";
}

/// The lists that differ from `list` by zeros in a chunk of it: the whole first, then halves, at
/// last single entries.
template <class T>
class FewerEntries {
public:
    using ValueType = List<T>;
    explicit FewerEntries(List<T> list) : list_(std::move(list)), length_(list_.size()) {}

    rc::Maybe<List<T>> operator()() {
        while (length_ > 0) {
            if (at_ >= list_.size()) {
                length_ /= 2;
                at_ = 0;
                continue;
            }
            List<T> fewer = list_;
            for (std::size_t i = at_; i < std::min(at_ + length_, list_.size()); ++i) fewer[i] = 0;
            at_ += length_;
            if (fewer != list_) return fewer;
        }
        return rc::Nothing;
    }

private:
    List<T> list_;
    std::size_t length_;
    std::size_t at_ = 0;
};

/// How RapidCheck simplifies a list: fewer entries, then, once there are few, smaller ones.
template <class T>
rc::Seq<List<T>> simpler(const List<T>& list) {
    auto fewer = rc::makeSeq<FewerEntries<T>>(list);
    const auto zeros = std::count(list.begin(), list.end(), T{0});
    if (list.size() - static_cast<std::size_t>(zeros) > 8) return fewer;
    return rc::seq::concat(std::move(fewer), rc::shrink::eachElement(list, [](T value) {
                               return rc::shrink::towards(value, T{0});
                           }));
}

/// `count` numbers in least .. most, which zero is one of, filled in each of the ways.
template <class T>
rc::Gen<List<T>> any_list(std::size_t count, T least, T most,
                          const std::vector<std::type_identity_t<T>>& edges) {
    return rc::Gen<List<T>>([=](const rc::Random& random, int) {
        rc::Random source = random;
        std::mt19937_64 bits(source.next());
        const Fill kind = all_fills[bits() % std::size(all_fills)];
        return rc::shrinkable::shrinkRecur(List<T>(fill(kind, count, least, most, edges, bits)),
                                           &simpler<T>);
    });
}
template <class T>
rc::Gen<List<T>> any_list(std::size_t count, T least, T most) {
    return any_list<T>(count, least, most, {least, most});
}

/// One such number.
template <class T>
rc::Gen<T> any_number(T least, T most) {
    return rc::gen::map(any_list<T>(1, least, most), [](const List<T>& one) { return one[0]; });
}

/// A size in least .. most, small ones first; it shrinks towards `least`.
inline rc::Gen<std::size_t> any_size(std::size_t least, std::size_t most) {
    return rc::gen::inRange<std::size_t>(least, most + 1);
}

}  // namespace slip::testing
