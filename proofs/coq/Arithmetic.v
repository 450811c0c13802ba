(* Linear arithmetic on the library's natural numbers and integers: the decision procedure lia of
   the Coq distribution is told what their operations mean. Nothing here states anything on SLIP. *)
From Coq Require Import ZArith ZifyClasses ZifyInst ZifyBool Zify.
From Coq Require Export Lia.
From mathcomp Require Import all_ssreflect all_algebra.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory Num.Theory.

(* A boolean statement b abbreviates b = true. *)
Ltac Zify.zify_pre_hook ::= unfold is_true in *.

(* Natural numbers. *)
Lemma addn_Z m n : Z.of_nat (m + n)%N = Z.add (Z.of_nat m) (Z.of_nat n).
Proof. by rewrite -plusE; lia. Qed.
#[global] Instance Op_addn : BinOp addn := @mkbop nat nat nat Z Z Z addn _ _ _ Z.add addn_Z.
Add Zify BinOp Op_addn.

Lemma subn_Z m n : Z.of_nat (m - n)%N = Z.max Z0 (Z.sub (Z.of_nat m) (Z.of_nat n)).
Proof. by rewrite -minusE; lia. Qed.
#[global] Instance Op_subn : BinOp subn :=
  @mkbop nat nat nat Z Z Z subn _ _ _ (fun x y => Z.max Z0 (Z.sub x y)) subn_Z.
Add Zify BinOp Op_subn.

Lemma muln_Z m n : Z.of_nat (m * n)%N = Z.mul (Z.of_nat m) (Z.of_nat n).
Proof. by rewrite -multE; lia. Qed.
#[global] Instance Op_muln : BinOp muln := @mkbop nat nat nat Z Z Z muln _ _ _ Z.mul muln_Z.
Add Zify BinOp Op_muln.

Lemma leq_Z m n : (m <= n)%N = Z.leb (Z.of_nat m) (Z.of_nat n).
Proof. by apply/idP/idP => [/leP|/Z.leb_le] h; [apply/Z.leb_le|apply/leP]; lia. Qed.
#[global] Instance Op_leq : BinOp leq :=
  @mkbop nat nat bool Z Z bool leq _ _ Inj_bool_bool Z.leb leq_Z.
Add Zify BinOp Op_leq.

Lemma eqn_Z (m n : nat) : (m == n) = Z.eqb (Z.of_nat m) (Z.of_nat n).
Proof. by apply/eqP/idP => [->|/Z.eqb_eq]; [exact: Z.eqb_refl|lia]. Qed.
#[global] Instance Op_eqn : BinOp (@eq_op nat_eqType : nat -> nat -> bool) :=
  @mkbop nat nat bool Z Z bool (@eq_op nat_eqType : nat -> nat -> bool) _ _ Inj_bool_bool
    Z.eqb eqn_Z.
Add Zify BinOp Op_eqn.

(* Integers. *)
Definition Z_of_int (n : int) : Z :=
  match n with Posz n => Z.of_nat n | Negz n => Z.opp (Z.of_nat n.+1) end.

Lemma Z_of_int_inj x y : Z_of_int x = Z_of_int y -> x = y.
Proof. by case: x y => [x|x] [y|y] /= e; try congr (_ _); lia. Qed.

#[global] Instance Inj_int_Z : InjTyp int Z :=
  @mkinj int Z Z_of_int (fun _ => True) (fun _ => I).
Add Zify InjTyp Inj_int_Z.

Lemma eq_int_Z (x y : int) : x = y <-> Z_of_int x = Z_of_int y.
Proof. by split=> [->//|/Z_of_int_inj]. Qed.
#[global] Instance Op_eq_int : BinRel (@eq int) := @mkbrel int Z (@eq int) _ (@eq Z) eq_int_Z.
Add Zify BinRel Op_eq_int.

#[global] Instance Op_Posz : UnOp Posz := 
  @mkuop nat int Z Z Posz _ _ (fun x => x) (fun n => erefl (Z.of_nat n)).
Add Zify UnOp Op_Posz.

Lemma Negz_Z n : Z_of_int (Negz n) = Z.opp (Z.add (Z.of_nat n) (Zpos xH)).
Proof. by rewrite /Z_of_int; lia. Qed.
#[global] Instance Op_Negz : UnOp Negz :=
  @mkuop nat int Z Z Negz _ _ (fun x => Z.opp (Z.add x (Zpos xH))) Negz_Z.
Add Zify UnOp Op_Negz.

Lemma subz_Z (m n : nat) : Z_of_int (m%:Z - n%:Z)%R = Z.sub (Z.of_nat m) (Z.of_nat n).
Proof.
case: (leqP n m) => [le_nm|/ltnW le_mn]; first by rewrite subzn // /Z_of_int; lia.
have -> : (m%:Z - n%:Z = - (n%:Z - m%:Z))%R by rewrite opprB.
rewrite subzn //; case e: (n - m)%N => [|k]; first by rewrite oppr0 [LHS]/=; lia.
by rewrite -NegzE /Z_of_int; lia.
Qed.

Lemma oppz_Z (x : int) : Z_of_int (- x)%R = Z.opp (Z_of_int x).
Proof. by case: x => [[|n]|n]. Qed.
#[global] Instance Op_oppz : UnOp (@GRing.opp int_ZmodType : int -> int) :=
  @mkuop int int Z Z (@GRing.opp int_ZmodType : int -> int) _ _ Z.opp oppz_Z.
Add Zify UnOp Op_oppz.

Lemma addz_Z (x y : int) : Z_of_int (x + y)%R = Z.add (Z_of_int x) (Z_of_int y).
Proof.
case: x y => [n|n] [m|m]; rewrite ?NegzE.
- by rewrite -PoszD /Z_of_int; lia.
- by rewrite subz_Z oppz_Z /Z_of_int; lia.
- by rewrite addrC subz_Z oppz_Z /Z_of_int; lia.
- by rewrite -opprD -PoszD !oppz_Z /Z_of_int; lia.
Qed.
#[global] Instance Op_addz : BinOp (@GRing.add int_ZmodType : int -> int -> int) :=
  @mkbop int int int Z Z Z (@GRing.add int_ZmodType : int -> int -> int) _ _ _ Z.add addz_Z.
Add Zify BinOp Op_addz.

Lemma mulz_Z (x y : int) : Z_of_int (x * y)%R = Z.mul (Z_of_int x) (Z_of_int y).
Proof.
by case: x y => [n|n] [m|m]; rewrite ?NegzE ?mulrN ?mulNr ?opprK -?PoszM ?oppz_Z /Z_of_int; lia.
Qed.
#[global] Instance Op_mulz : BinOp (@GRing.mul int_Ring : int -> int -> int) :=
  @mkbop int int int Z Z Z (@GRing.mul int_Ring : int -> int -> int) _ _ _ Z.mul mulz_Z.
Add Zify BinOp Op_mulz.

Lemma natmulz_Z (x : int) (n : nat) :
  Z_of_int (x *+ n)%R = Z.mul (Z_of_int x) (Z.of_nat n).
Proof. by elim: n => [|n IH]; rewrite ?mulr0n ?mulrS ?addz_Z ?IH ?[LHS]/=; lia. Qed.
#[global] Instance Op_natmulz : BinOp (@GRing.natmul int_ZmodType : int -> nat -> int) :=
  @mkbop int nat int Z Z Z (@GRing.natmul int_ZmodType : int -> nat -> int) _ _ _
    Z.mul natmulz_Z.
Add Zify BinOp Op_natmulz.

Lemma intmulz_Z (x n : int) : Z_of_int (x *~ n)%R = Z.mul (Z_of_int x) (Z_of_int n).
Proof. by rewrite -mulrzr intz mulz_Z. Qed.
#[global] Instance Op_intmulz : BinOp (@intmul int_ZmodType : int -> int -> int) :=
  @mkbop int int int Z Z Z (@intmul int_ZmodType : int -> int -> int) _ _ _ Z.mul intmulz_Z.
Add Zify BinOp Op_intmulz.

Lemma absz_Z (x : int) : Z.of_nat (absz x) = Z.abs (Z_of_int x).
Proof. by case: x => n /=; lia. Qed.
#[global] Instance Op_absz : UnOp absz := @mkuop int nat Z Z absz _ _ Z.abs absz_Z.
Add Zify UnOp Op_absz.

Lemma normz_Z (x : int) : Z_of_int `|x|%R = Z.abs (Z_of_int x).
Proof. by rewrite -abszE /Z_of_int absz_Z. Qed.
#[global] Instance Op_normz :
    UnOp (@Num.norm int_numDomainType int_normedZmodType : int -> int) :=
  @mkuop int int Z Z (@Num.norm int_numDomainType int_normedZmodType : int -> int) _ _
    Z.abs normz_Z.
Add Zify UnOp Op_normz.

Lemma lez_Z (x y : int) : (x <= y)%R = Z.leb (Z_of_int x) (Z_of_int y).
Proof. by case: x y => [n|n] [m|m]; rewrite /Order.le /=; lia. Qed.
#[global] Instance Op_lez :
    BinOp (@Order.le ring_display int_porderType : int -> int -> bool) :=
  @mkbop int int bool Z Z bool (@Order.le ring_display int_porderType : int -> int -> bool) _ _
    Inj_bool_bool Z.leb lez_Z.
Add Zify BinOp Op_lez.

Lemma ltz_Z (x y : int) : (x < y)%R = Z.ltb (Z_of_int x) (Z_of_int y).
Proof. by case: x y => [n|n] [m|m]; rewrite /Order.lt /=; lia. Qed.
#[global] Instance Op_ltz :
    BinOp (@Order.lt ring_display int_porderType : int -> int -> bool) :=
  @mkbop int int bool Z Z bool (@Order.lt ring_display int_porderType : int -> int -> bool) _ _
    Inj_bool_bool Z.ltb ltz_Z.
Add Zify BinOp Op_ltz.

Lemma eqz_Z (x y : int) : (x == y) = Z.eqb (Z_of_int x) (Z_of_int y).
Proof. by apply/eqP/idP => [->|/Z.eqb_eq /Z_of_int_inj //]; exact: Z.eqb_refl. Qed.
#[global] Instance Op_eqz : BinOp (@eq_op int_eqType : int -> int -> bool) :=
  @mkbop int int bool Z Z bool (@eq_op int_eqType : int -> int -> bool) _ _ Inj_bool_bool
    Z.eqb eqz_Z.
Add Zify BinOp Op_eqz.

#[global] Instance Op_zeroz : CstOp (GRing.zero int_ZmodType : int) :=
  @mkcst int Z (GRing.zero int_ZmodType : int) _ Z0 erefl.
Add Zify CstOp Op_zeroz.
#[global] Instance Op_onez : CstOp (GRing.one int_Ring : int) :=
  @mkcst int Z (GRing.one int_Ring : int) _ (Zpos xH) erefl.
Add Zify CstOp Op_onez.

Lemma remainder_Z a k : (0 < k)%N -> Z.of_nat (a %% k)%N = Z.modulo (Z.of_nat a) (Z.of_nat k).
Proof.
move=> k_gt0; have e := divn_eq a k; have low := ltn_pmod a k_gt0.
by apply: (Z.mod_unique _ _ (Z.of_nat (a %/ k)%N)); lia.
Qed.

Lemma quotient_Z a k : (0 < k)%N -> Z.of_nat (a %/ k)%N = Z.div (Z.of_nat a) (Z.of_nat k).
Proof.
move=> k_gt0; have e := divn_eq a k; have low := ltn_pmod a k_gt0.
by apply: (Z.div_unique _ _ _ (Z.of_nat (a %% k)%N)); lia.
Qed.

(* A sum over 0 <= k < n m, by quotient and remainder of k. *)
Lemma sum_divmod (R : Type) (idx : R) (op : Monoid.com_law idx) (n m : nat)
    (f : nat -> nat -> R) : (0 < m)%N ->
  \big[op/idx]_(0 <= k < n * m) f (k %/ m)%N (k %% m)%N
    = \big[op/idx]_(0 <= i < n) \big[op/idx]_(0 <= j < m) f i j.
Proof.
move=> m_gt0; elim: n => [|n IH]; first by rewrite mul0n !big_geq.
rewrite big_nat_recr //= -IH mulSn addnC.
rewrite (@big_cat_nat _ _ _ (n * m)) ?leq_addr //=; congr (op _ _).
rewrite -{1}[(n * m)%N]add0n big_addn addKn; apply: eq_big_nat => j /andP[_ lt_jm].
by rewrite addnC divnMDl // modnMDl divn_small // modn_small // addn0.
Qed.
