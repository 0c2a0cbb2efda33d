# Flags of our own targets; nothing here reaches those who link the installed libraries.
add_library(meshwise_flags INTERFACE)
# -ffp-contract=off: a fused multiply-add rounds once where two instructions round twice, and the answer must not depend
# on whether the machine has it. -fno-math-errno: nothing reads errno, and sqrt becomes one instruction.
target_compile_options(meshwise_flags INTERFACE -Wall -Wextra -ffp-contract=off -fno-math-errno)
if(MESHWISE_STRICT)
  target_compile_options(meshwise_flags INTERFACE -Werror)
endif()
if(MESHWISE_SANITIZE)
  target_compile_options(meshwise_flags INTERFACE
    -fsanitize=${MESHWISE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(meshwise_flags INTERFACE -fsanitize=${MESHWISE_SANITIZE})
endif()
