// Tests that hold in both profiles (PARAM-1).
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <type_traits>
#include <vector>

#include "optimized/protocol/profile.hpp"

/// A test, or a property with RapidCheck's values, that runs in each profile: SuiteP31.Name and
/// SuiteP61.Name. In its body P is P31 or P61.
#define PROFILE_TEST(Suite, Name)                                   \
    template <class P>                                              \
    void Suite##Name();                                             \
    TEST(Suite##P31, Name) { Suite##Name<::slip::kernels::P31>(); } \
    TEST(Suite##P61, Name) { Suite##Name<::slip::kernels::P61>(); } \
    template <class P>                                              \
    void Suite##Name()
#define PROFILE_PROP(Suite, Name)                                                \
    template <class P>                                                           \
    void Suite##Name();                                                          \
    RC_GTEST_PROP(Suite##P31, Name, ()) { Suite##Name<::slip::kernels::P31>(); } \
    RC_GTEST_PROP(Suite##P61, Name, ()) { Suite##Name<::slip::kernels::P61>(); } \
    template <class P>                                                           \
    void Suite##Name()

namespace slip {

/// The other profile.
template <class P>
using Other =
    std::conditional_t<protocol::profile_of<P> == Profile::p31, kernels::P61, kernels::P31>;

template <class P>
using Residues = std::vector<typename P::Residue>;
template <class P>
using Products = std::vector<typename P::Product>;

}  // namespace slip
