module talking
  implicit none
contains
  subroutine exchange(count)
    integer, intent(in) :: count
    print *, count
  end subroutine
end module

subroutine outside(count)
  use talking
  integer, intent(in) :: count
  call exchange(count)
  call inner
contains
  subroutine inner
    call exchange(2 * count)
  end subroutine
end subroutine

program main
  call outside(3)
end program
