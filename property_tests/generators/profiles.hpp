// Tests of what is a template over the profile (PARAM-1).
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "optimized/kernels/contracts.hpp"

/// A test, or a property with RapidCheck's values, that runs in the profile: SuiteP31.Name. In its
/// body P is P31.
#define PROFILE_TEST(Suite, Name)                                   \
    template <class P>                                              \
    void Suite##Name();                                             \
    TEST(Suite##P31, Name) { Suite##Name<::slip::kernels::P31>(); } \
    template <class P>                                              \
    void Suite##Name()
#define PROFILE_PROP(Suite, Name)                                                \
    template <class P>                                                           \
    void Suite##Name();                                                          \
    RC_GTEST_PROP(Suite##P31, Name, ()) { Suite##Name<::slip::kernels::P31>(); } \
    template <class P>                                                           \
    void Suite##Name()

namespace slip {

template <class P>
using Residues = std::vector<typename P::Residue>;
template <class P>
using Products = std::vector<typename P::Product>;

}  // namespace slip
