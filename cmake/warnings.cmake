# SPDX-License-Identifier: BSD-3-Clause
add_compile_options(-Wall -Wextra -Wpointer-arith -Wno-missing-field-initializers)
if(ATOLL_WERROR)
  add_compile_options(-Werror)
endif()
