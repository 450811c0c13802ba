// Which names libslip.so exports: those of a namespace that is opened as `namespace SLIP_API slip`,
// as it is in public headers only, but for types marked SLIP_HIDDEN, which a header names and does
// not define. Templates that the library instantiates are marked one by one, because g++ gives
// their instances no visibility of the namespace. Everything else is compiled with hidden
// visibility.
#pragma once

#define SLIP_API [[gnu::visibility("default")]]
#define SLIP_HIDDEN [[gnu::visibility("hidden")]]
