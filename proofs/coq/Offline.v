(* Cancellations from a second David, who works ahead of use. Chapters: offline, threat-model.

   The offline David knows the masks, David the messages. Each alone sees uniform residues; both
   together see the activations. What is right does not depend on what they know: the second half of
   this file lets them act as one. *)
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Probability Ring Masking Linear Integrity Model Session.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.
Arguments chance : simpl never.

(* ---------------------------------------------------------------------------------- two views *)
(* A fixed schedule: K numbers the messages, and the kth has n k rows and b k columns. Masks may be
   drawn at any time ahead. *)
Section Views.
Variables (L : nat) (K : finType) (n b : K -> nat).
Definition all_residues : finType := [finType of {dffun forall k : K, 'M['Z_L]_(n k, b k)}].

(* David's view is X, if the masks are R. The activation of a message may depend on what was
   sent before it, by David's replies. *)
Definition sees (q : all_residues -> forall k, 'M[int]_(n k, b k)) (R X : all_residues) : bool :=
  [forall k, X k == mask (q X k) (R k)].

Lemma sees_one q R X : sees q R X = (R == [ffun k => X k - embed_mx L (q X k)]).
Proof.
apply/forallP/eqP => [all_k|-> k]; last by rewrite ffunE /mask addrC subrK.
by apply/ffunP=> k; rewrite ffunE (eqP (all_k k)) /mask addrC addKr.
Qed.

Lemma card_all_residues : (1 < L)%N -> #|all_residues| = (L ^ (\sum_k n k * b k))%N.
Proof.
move=> L_gt1; rewrite card_dep_ffun foldrE big_map big_enum /= expn_sum.
by apply: eq_bigr => k _; rewrite card_mx card_Zp_L.
Qed.

Lemma view_each (Omega : finType) (mu : Omega -> rat) q (D : pred Omega) X : (1 < L)%N ->
  Pr (independent mu (@uniform all_residues)) (fun z => D z.1 && sees (q z.1) z.2 X)
    = Pr mu D / (L ^ (\sum_k n k * b k))%N%:R
  /\ Pr (independent mu (@uniform all_residues)) (fun z => D z.1 && (z.2 == X))
    = Pr mu D / (L ^ (\sum_k n k * b k))%N%:R.
Proof.
move=> L_gt1; have one (Y : Omega -> all_residues) :
    Pr (independent mu (@uniform all_residues)) (fun z => D z.1 && (z.2 == Y z.1))
      = Pr mu D / (L ^ (\sum_k n k * b k))%N%:R.
  rewrite Pr_independent /Pr mulr_suml [RHS]big_mkcond /=; apply: eq_bigr => w _.
  case: (D w); last by rewrite big_pred0_eq mulr0.
  by rewrite (big_pred1 (Y w)) // /uniform card_all_residues.
split; last exact: one.
rewrite -[RHS](one (fun w => [ffun k => X k - embed_mx L (q w X k)])).
by apply: eq_Pr => z; rewrite sees_one.
Qed.
End Views.

(* Both views together give the activation. *)
Lemma pooled_views L m b (q : 'M[int]_(m, b)) (r : 'M['Z_L]_(m, b)) : (1 < L)%N ->
  lift_mx (mask q r - r) = q <-> forall i j, in_lift_range L (q i j).
Proof. by move=> L_gt1; rewrite /mask addrK; apply: lift_embed_mx. Qed.

(* A right reply and a right cancellation give the product. *)
Lemma unmask_both L m n b qa (W : 'M[int]_(m, n)) (q : 'M[int]_(n, b)) (r : 'M['Z_L]_(n, b)) y c :
  (1 < L)%N -> y = product W (mask q r) -> c = product W r ->
  y - c = embed_mx L (W *m q)
  /\ ((2 * static_bound qa W + 1 <= L)%N -> within qa q -> unmask y c = W *m q).
Proof.
move=> L_gt1 -> ->; split=> [|L_ge q_in]; last first.
  exact: (@unmask_exact L L_gt1 m n b qa W q r L_ge q_in).
by rewrite /product /mask unmask_ring -embed_mxM.
Qed.

(* ----------------------------------------------------------------------------------- protocol *)
Section Duo.
Variables (G : finType) (M N : G -> nat) (In Out : Type).
Variables (prime_L kappa t : nat) (W_D : forall g, 'M[int]_(M g, N g)).
Notation F := [finFieldType of 'F_prime_L].
Notation L := (pdiv prime_L).
Notation message := (@message F G N).
Notation reply x := (@reply F G M N x).
Notation secrets := (@secrets F kappa G M).
Notation program := (@program G M N In Out).
Notation factors := (@factors G M N).
Notation event := (@event G M N In Out prime_L).
Notation environment := (@environment G M N In Out prime_L).
Notation masks g b := (@masks G N prime_L g b).
Notation right x := (@right G M N prime_L W_D x).

(* Online: what David and the user see. The rest is what the offline David sees: a mask r, and an
   accepted cancellation c, a rejected one, or none, because his connection broke. *)
Inductive joint_event : Type :=
  | Online (ev : event)
  | Prepared (r : message) (c : reply r)
  | Spoilt (r : message) (c : reply r)
  | Missing (r : message).

(* Both Davids, the user and the networks decide by what all of them saw. *)
Record pool : Type := Pool {
  online : seq joint_event -> forall x : message, option (reply x);
  offline : seq joint_event -> forall r : message, option (reply r);
  asker : seq joint_event -> Out -> In
}.

Section Run.
Variables (judge : secrets -> forall x : message, reply x -> bool) (e : pool) (C : factors).

(* Charlie asks the offline David for the cancellation of a fresh mask, and computes it himself if
   he gets none. He unmasks with it only what both verdicts allow. One rho serves for all sessions,
   those that break and those that are renewed, until the first reject, which ends the session and
   the life of the pair: the next session has a fresh one. After the Qth reject he sends nothing. *)
Fixpoint duo (Q : nat) (rho : secrets) (h : seq joint_event) (p : program) :
    random (seq joint_event) :=
  match p with
  | Stop => Known h
  | Answer out next =>
      let i := asker e h out in duo Q rho (rcons h (Online (Answered _ _ _ out i))) (next i)
  | Renew next => duo Q rho (rcons h (Online (Renewed _ _ _ _ _))) next
  | Call g b q next broken =>
      if Q isn't Q'.+1 then Known h else
      Draw (fun r : masks g b =>
        let x := masked q r in
        let exchanged h c :=
          match online e h x with
          | None => duo Q rho (rcons h (Online (Lost _ _ _ x))) broken
          | Some y =>
              if judge rho y
              then duo Q rho (rcons h (Online (Accepted _ _ y)))
                     (next (charlie_sum t (left_factor C g) (right_factor C g) (unmask y c) q))
              else Draw (fun rho' : secrets =>
                     duo Q' rho' (rcons h (Online (Rejected _ _ y))) broken)
          end in
        let m := @Message F G N g b r in
        match offline e h m with
        | None => exchanged (rcons h (Missing m)) (cancellation (W_D g) r)
        | Some c =>
            if judge rho c
            then exchanged (rcons h (Prepared c)) c
            else Draw (fun rho' : secrets => duo Q' rho' (rcons h (Spoilt c)) broken)
        end)
  end.
End Run.

(* Charlie's check, and one that nothing wrong passes. *)
Definition checked (rho : secrets) (x : message) (y : reply x) : bool :=
  verdict (W_F prime_L W_D) rho y.
Definition perfect (rho : secrets) (x : message) (y : reply x) : bool := y == right x.

(* ------------------------------------------------------------------- both Davids act as one *)
Section Pooled.
Hypothesis L_prime : prime prime_L.
Variables (e : pool) (C : factors) (qa : G -> nat).
Hypothesis L_ge : forall g, (2 * static_bound (qa g) (W_D g) + 1 <= prime_L)%N.
Notation passing := ((prime_L%:R ^+ kappa)^-1 : rat).
Notation average_rho f := (\sum_(rho : secrets) uniform rho * f rho).

Lemma checked_right rho (x : message) : checked rho (right x).
Proof. exact: verdict_right. Qed.

(* One verdict: a wrong reply passes, and then anything follows, or it does not. *)
Lemma one_verdict (E : seq joint_event -> bool) (x : message) (y : reply x)
    (A A' : secrets -> random (seq joint_event)) (B B' : random (seq joint_event)) (c : rat) :
  `|chance E B - chance E B'| <= c ->
  (y = right x -> `|average_rho (fun rho => chance E (A rho))
                    - average_rho (fun rho => chance E (A' rho))| <= passing + c) ->
  `|average_rho (fun rho => chance E (if checked rho y then A rho else B))
    - average_rho (fun rho => chance E (if perfect rho y then A' rho else B'))| <= passing + c.
Proof.
move=> close same; case: (eqVneq y (right x)) => [y_right|y_wrong].
  have := same y_right; congr (`|_ - _| <= _); apply: eq_bigr => rho _; congr (_ * _).
    by rewrite y_right checked_right.
  by rewrite /perfect y_right eqxx.
rewrite [X in _ - X](_ : _ = chance E B'); last first.
  by apply: average_same (card_secrets_gt0 F kappa M) _ => rho; rewrite /perfect (negPf y_wrong).
rewrite [X in X - _](_ : _ = average_rho (fun rho =>
    if verdict (W_F prime_L W_D) rho y then chance E (A rho) else chance E B)); last first.
  by apply: eq_bigr => rho _; rewrite -/(checked rho y); case: ifP.
by apply: (average_wrong L_prime y_wrong _ _ close) => [rho|]; rewrite chance_ge0 chance_le1.
Qed.

Lemma average_draw (E : seq joint_event -> bool) (X : finType)
    (f : secrets -> X -> random (seq joint_event)) :
  average_rho (fun rho => chance E (Draw (f rho)))
    = \sum_x uniform x * average_rho (fun rho => chance E (f rho x)).
Proof. by under eq_bigr do rewrite chance_draw; rewrite average_swap. Qed.

Theorem duo_perfect (E : seq joint_event -> bool) p Q h : admissible t W_D C qa p ->
  `|average_rho (fun rho => chance E (duo checked e C Q rho h p))
    - average_rho (fun rho => chance E (duo perfect e C Q rho h p))| <= Q%:R * passing.
Proof.
have passing0 k : 0 <= k%:R * passing by rewrite mulr_ge0 ?ler0n // invr_ge0 exprn_ge0 ?ler0n.
elim: p Q h => [|g b q next IHnext broken IHbroken|out next IH|next IH] Q h /=.
- by rewrite subrr normr0.
- case=> q_in next_in broken_in; case: Q => [|Q]; first by rewrite subrr normr0.
  rewrite !average_draw; apply: (@average_close _ (@uniform (masks g b))) => [|r].
    exact: uniform_masks.
  rewrite mulrS mulrDl mul1r.
  have exact_product := unmasked_right t L_prime C L_ge r q_in.
  have exchanged h' : `|average_rho (fun rho => chance E
      match online e h' (masked q r) with
      | None => duo checked e C Q.+1 rho (rcons h' (Online (Lost _ _ _ (masked q r)))) broken
      | Some y =>
          if checked rho y
          then duo checked e C Q.+1 rho (rcons h' (Online (Accepted _ _ y)))
                 (next (charlie_sum t (left_factor C g) (right_factor C g)
                          (unmask y (cancellation (W_D g) r)) q))
          else Draw (fun rho' : secrets =>
                 duo checked e C Q rho' (rcons h' (Online (Rejected _ _ y))) broken)
      end) - average_rho (fun rho => chance E
      match online e h' (masked q r) with
      | None => duo perfect e C Q.+1 rho (rcons h' (Online (Lost _ _ _ (masked q r)))) broken
      | Some y =>
          if perfect rho y
          then duo perfect e C Q.+1 rho (rcons h' (Online (Accepted _ _ y)))
                 (next (charlie_sum t (left_factor C g) (right_factor C g)
                          (unmask y (cancellation (W_D g) r)) q))
          else Draw (fun rho' : secrets =>
                 duo perfect e C Q rho' (rcons h' (Online (Rejected _ _ y))) broken)
      end)| <= passing + Q%:R * passing.
    case: (online e h' (masked q r)) => [y|]; last first.
      by have := IHbroken Q.+1 (rcons h' (Online (Lost _ _ _ (masked q r)))) broken_in;
        rewrite mulrS mulrDl mul1r.
    apply: one_verdict => [|->]; first by rewrite !chance_draw; apply: IHbroken.
    have := IHnext _ Q.+1 (rcons h' (Online (Accepted _ _ (right (masked q r))))) next_in.
    by rewrite -exact_product mulrS mulrDl mul1r.
  case: (offline e h _) => [c|]; last exact: exchanged.
  by apply: one_verdict => [|->]; [rewrite !chance_draw; apply: IHbroken|apply: exchanged].
- by move=> in_all; apply: IH.
by move=> next_in; apply: IH.
Qed.
End Pooled.

(* --------------------------------------------------------------------------- David alone *)
(* What David and the user see, and what the offline David sees. *)
Definition seen (h : seq joint_event) : seq event :=
  pmap (fun ev => if ev is Online ev' then Some ev' else None) h.
Definition offline_seen (h : seq joint_event) : seq joint_event :=
  filter (fun ev => if ev is Online _ then false else true) h.

(* David and the user decide by what they see; the offline David by anything. *)
Definition beside (e : environment)
    (second : seq joint_event -> forall r : message, option (reply r)) : pool :=
  Pool (fun h => david e (seen h)) second (fun h => user e (seen h)).

Lemma seen_rcons h ev :
  seen (rcons h ev) = if ev is Online ev' then rcons (seen h) ev' else seen h.
Proof. by rewrite /seen -cats1 pmap_cat; case: ev => *; rewrite /= ?cats0 ?cats1. Qed.

Section Apart.
Hypothesis L_prime : prime prime_L.
Variables (e : environment) (C : factors) (qa : G -> nat).
Variable second : seq joint_event -> forall r : message, option (reply r).
Hypothesis L_ge : forall g, (2 * static_bound (qa g) (W_D g) + 1 <= prime_L)%N.
Hypothesis second_right : forall h r c, second h r = Some c -> c = right r.
Notation passing := ((prime_L%:R ^+ kappa)^-1 : rat).
Notation average_rho f := (\sum_(rho : secrets) uniform rho * f rho).

Theorem duo_ideal (E : seq event -> bool) p Q h : admissible t W_D C qa p ->
  `|average_rho (fun rho =>
        chance (fun k => E (seen k)) (duo checked (beside e second) C Q rho h p))
    - chance E (ideal t W_D (blind prime_L W_D) e C Q (seen h) p)| <= Q%:R * passing.
Proof.
elim: p Q h => [|g b q next IHnext broken IHbroken|out next IH|next IH] Q h /=.
- move=> _; rewrite (average_same (card_secrets_gt0 F kappa M) (a := (E (seen h))%:R)) //.
  by rewrite subrr normr0 mulr_ge0 ?ler0n // invr_ge0 exprn_ge0 ?ler0n.
- case=> q_in next_in broken_in; case: Q => [|Q].
    rewrite (average_same (card_secrets_gt0 F kappa M) (a := (E (seen h))%:R)) // subrr normr0.
    by rewrite mul0r.
  pose step x := match david e (seen h) x with
    | None => ideal t W_D (blind prime_L W_D) e C Q.+1 (rcons (seen h) (Lost _ _ _ x)) broken
    | Some y =>
        if y == right x
        then ideal t W_D (blind prime_L W_D) e C Q.+1 (rcons (seen h) (Accepted _ _ y))
               (next (unsplit_product t W_D C q))
        else ideal t W_D (blind prime_L W_D) e C Q (rcons (seen h) (Rejected _ _ y)) broken
    end.
  rewrite chance_draw (average_message q (fun x => chance E (step x))) average_draw.
  apply: (@average_close _ (@uniform (masks g b))) => [|r].
    exact: uniform_masks.
  rewrite /step.
  have exact_product := unmasked_right t L_prime C L_ge r q_in.
  have exchanged h' : seen h' = seen h -> `|average_rho (fun rho => chance (fun k => E (seen k))
      match david e (seen h') (masked q r) with
      | None => duo checked (beside e second) C Q.+1 rho
                  (rcons h' (Online (Lost _ _ _ (masked q r)))) broken
      | Some y =>
          if checked rho y
          then duo checked (beside e second) C Q.+1 rho (rcons h' (Online (Accepted _ _ y)))
                 (next (charlie_sum t (left_factor C g) (right_factor C g)
                          (unmask y (cancellation (W_D g) r)) q))
          else Draw (fun rho' : secrets =>
                 duo checked (beside e second) C Q rho' (rcons h' (Online (Rejected _ _ y))) broken)
      end) - chance E (step (masked q r))| <= Q.+1%:R * passing.
    move=> seen_h'; rewrite /step seen_h'; case: (david e (seen h) _) => [y|]; last first.
      by have := IHbroken Q.+1 (rcons h' (Online (Lost _ _ _ (masked q r)))) broken_in;
        rewrite seen_rcons seen_h'.
    case: (eqVneq y (right (masked q r))) => [->|y_wrong].
      under eq_bigr do rewrite checked_right.
      have := IHnext _ Q.+1 (rcons h' (Online (Accepted _ _ (right (masked q r))))) next_in.
      by rewrite -exact_product seen_rcons seen_h'.
    rewrite mulrS mulrDl mul1r; set w := chance E _.
    have := IHbroken Q (rcons h' (Online (Rejected _ _ y))) broken_in.
    rewrite seen_rcons seen_h' -/w => close.
    rewrite [X in X - _](_ : _ = average_rho (fun rho => if verdict (W_F prime_L W_D) rho y
      then chance (fun k => E (seen k)) (duo checked (beside e second) C Q.+1 rho
             (rcons h' (Online (Accepted _ _ y))) (next (charlie_sum t (left_factor C g)
               (right_factor C g) (unmask y (cancellation (W_D g) r)) q)))
      else average_rho (fun rho' => chance (fun k => E (seen k)) (duo checked (beside e second) C Q
             rho' (rcons h' (Online (Rejected _ _ y))) broken)))); last first.
      by apply: eq_bigr => rho _; rewrite -/(checked rho y); case: ifP.
    apply: (average_wrong L_prime y_wrong _ _ close) => [rho|].
      by rewrite chance_ge0 chance_le1.
    have := chance_ge0 (fun k => E (seen k)) (Draw (fun rho' => duo checked (beside e second) C Q
      rho' (rcons h' (Online (Rejected _ _ y))) broken)).
    have := chance_le1 (fun k => E (seen k)) (Draw (fun rho' => duo checked (beside e second) C Q
      rho' (rcons h' (Online (Rejected _ _ y))) broken)).
    by rewrite chance_draw => -> ->.
  case c_second: (second h _) => [c|]; last by apply: exchanged; rewrite seen_rcons.
  rewrite (second_right c_second); under eq_bigr do rewrite checked_right.
  by apply: exchanged; rewrite seen_rcons.
- by move=> in_all; have := IH (user e (seen h) out) Q
    (rcons h (Online (Answered _ _ _ out (user e (seen h) out)))) (in_all _); rewrite seen_rcons.
by move=> next_in; have := IH Q (rcons h (Online (Renewed _ _ _ _ _))) next_in; rewrite seen_rcons.
Qed.
End Apart.

(* ------------------------------------------------------------------- the offline David alone *)
(* He is told the shapes of the masks, gets uniform residues, and hears his verdicts. *)
Fixpoint alone (second : seq joint_event -> forall r : message, option (reply r)) (rho : secrets)
    (shapes : seq (G * nat)) (h : seq joint_event) : random (seq joint_event) :=
  match shapes with
  | [::] => Known h
  | (g, b) :: rest =>
      Draw (fun r : masks g b =>
        let m := @Message F G N g b r in
        match second h m with
        | None => alone second rho rest (rcons h (Missing m))
        | Some c =>
            if checked rho c then alone second rho rest (rcons h (Prepared c))
            else Known (rcons h (Spoilt c))
        end)
  end.

Lemma offline_seen_rcons h ev :
  offline_seen (rcons h ev) = if ev is Online _ then offline_seen h else rcons (offline_seen h) ev.
Proof. by rewrite /offline_seen filter_rcons; case: ev. Qed.

Lemma duo_silent judge (E : seq joint_event -> bool) e C p rho h :
  chance (fun k => E (offline_seen k)) (duo judge e C 0 rho h p) = (E (offline_seen h))%:R.
Proof.
elim: p rho h => [|g b q next _ broken _|out next IH|next IH] rho h //=.
  by rewrite IH offline_seen_rcons.
by rewrite IH offline_seen_rcons.
Qed.

Theorem duo_alone (E : seq joint_event -> bool) e C second shapes p rho h :
  (forall h x, online e h x = Some (right x)) ->
  (forall h r, offline e h r = second (offline_seen h) r) -> keeps_schedule shapes p ->
  chance (fun k => E (offline_seen k)) (duo checked e C 1 rho h p)
    = chance E (alone second rho shapes (offline_seen h)).
Proof.
move=> honest by_view.
elim: p shapes h => [|g b q next IHn broken IHb|out next IH|next IH] shapes h /=.
- by move=> ->.
- case: shapes => [//|[g' b'] rest] [-> -> keeps]; rewrite !chance_draw.
  apply: eq_bigr => r _; congr (_ * _); rewrite by_view /=.
  case: (second (offline_seen h) _) => [c|]; last first.
    by rewrite honest checked_right (IHn _ rest _ (keeps _)) !offline_seen_rcons.
  case: (checked rho c).
    by rewrite honest checked_right (IHn _ rest _ (keeps _)) !offline_seen_rcons.
  rewrite chance_draw; apply: average_same (card_secrets_gt0 F kappa M) _ => rho'.
  by rewrite duo_silent offline_seen_rcons.
- by move=> keeps; rewrite (IH _ shapes _ (keeps _)) offline_seen_rcons.
by move=> keeps; rewrite (IH shapes _ keeps) offline_seen_rcons.
Qed.

Definition offline_run (e : pool) (C : factors) (Q : nat) (p : program) :
    random (seq joint_event) :=
  Draw (fun rho : secrets => duo checked e C Q rho [::] p).

(* A cancellation or a reply was rejected. *)
Definition any_reject (h : seq joint_event) : bool :=
  has (fun ev => match ev with
                 | Spoilt _ _ => true
                 | Online (Rejected _ _) => true
                 | _ => false
                 end) h.

(* What a message is answered with, by either of them; both are right whenever they answer. *)
Definition answers (e : pool) h (x : message) (y : reply x) : Prop :=
  online e h x = Some y \/ offline e h x = Some y.
Definition both_truthful (e : pool) : Prop :=
  forall h (x : message) (y : reply x), answers e h y -> y = right x.
End Duo.

(* -------------------------------------------------------------------------------------- outputs *)
Section Outputs.
Variables (G : finType) (M N : G -> nat) (In : Type) (Out : eqType).
Variables (prime_L kappa t : nat) (W_D : forall g, 'M[int]_(M g, N g)).
Notation F := [finFieldType of 'F_prime_L].
Notation program := (@program G M N In Out).
Notation joint_event := (@joint_event G M N In Out prime_L).
Notation secrets := (@secrets F kappa G M).
Notation message := (@message F G N).
Notation reply x := (@reply F G M N x).
Notation pool := (@pool G M N In Out prime_L).
Variable C : @factors G M N.

(* All that was accepted is right, and all else, outputs above all, is what the unsplit model gives
   on the inputs in the transcript, with sessions that break where they break in it. *)
Fixpoint all_exact (p : program) (h : seq joint_event) {struct h} : bool :=
  match p, h with
  | _, [::] => true
  | Call g b q next broken, ev :: h' =>
      match ev with
      | Prepared r c =>
          [&& (group r, columns r) == (g, b), c == right W_D r & all_exact p h']
      | Missing r => ((group r, columns r) == (g, b)) && all_exact p h'
      | Spoilt r c => ((group r, columns r) == (g, b)) && all_exact broken h'
      | Online (Accepted x y) =>
          [&& (group x, columns x) == (g, b), y == right W_D x
            & all_exact (next (unsplit_product t W_D C q)) h']
      | Online (Rejected x y) => ((group x, columns x) == (g, b)) && all_exact broken h'
      | Online (Lost x) => ((group x, columns x) == (g, b)) && all_exact broken h'
      | _ => false
      end
  | Answer out next, Online (Answered out' i) :: h' => (out' == out) && all_exact (next i) h'
  | Renew next, Online Renewed :: h' => all_exact next h'
  | _, _ => false
  end.

Hypothesis L_prime : prime prime_L.
Variable qa : G -> nat.
Hypothesis L_ge : forall g, (2 * static_bound (qa g) (W_D g) + 1 <= prime_L)%N.

(* If what the judge accepts is right; calm says that moreover only right replies come. *)
Lemma duo_exact (judge : secrets -> forall x : message, reply x -> bool) (e : pool) (calm : bool)
    Q rho h p :
  (forall rho x, judge rho x (right W_D x)) ->
  (forall rho h x y, answers e h y -> judge rho x y -> y = right W_D x) ->
  (calm -> both_truthful W_D e) -> admissible t W_D C qa p ->
  surely (fun h' => exists tail, h' = h ++ tail /\
            all_exact p tail && (calm ==> ~~ any_reject tail)) (duo t W_D judge e C Q rho h p).
Proof.
move=> judge_right judged truth.
elim: p Q rho h => [|g b q next IHn broken IHb|out next IH|next IH] Q rho h /=.
- by exists [::]; rewrite cats0 implybT.
- case=> q_in next_in broken_in; case: Q => [|Q] /=; first by exists [::]; rewrite cats0 implybT.
  move=> r; have exact_product := unmasked_right t L_prime C L_ge r q_in.
  rewrite /unmasked in exact_product.
  have exchanged h0 first : h0 = rcons h first ->
      (forall tail, all_exact (Call q next broken) tail && (calm ==> ~~ any_reject tail) ->
         all_exact (Call q next broken) (first :: tail)
           && (calm ==> ~~ any_reject (first :: tail))) ->
      surely (fun h' => exists tail, h' = h ++ tail /\
            all_exact (Call q next broken) tail && (calm ==> ~~ any_reject tail))
        match online e h0 (masked q r) with
        | None => duo t W_D judge e C Q.+1 rho (rcons h0 (Online (Lost _ _ _ (masked q r)))) broken
        | Some y =>
            if judge rho _ y
            then duo t W_D judge e C Q.+1 rho (rcons h0 (Online (Accepted _ _ y)))
                   (next (charlie_sum t (left_factor C g) (right_factor C g)
                            (unmask y (cancellation (W_D g) r)) q))
            else Draw (fun rho' : secrets =>
                   duo t W_D judge e C Q rho' (rcons h0 (Online (Rejected _ _ y))) broken)
        end.
    move=> -> goes.
    have after ev tail : rcons (rcons h first) ev ++ tail = h ++ [:: first, ev & tail].
      by rewrite !cat_rcons.
    case o: (online e _ _) => [y|]; last first.
      apply: sub_surely (IHb _ _ _ broken_in) _ => h' [tail [-> ok]].
      by rewrite after; exists [:: first, Online (Lost M In Out (masked q r)) & tail];
        split; rewrite ?goes //= eqxx.
    have answered : answers e (rcons h first) y by left.
    case j: (judge rho _ y).
      rewrite (judged _ _ _ _ answered j) [X in next X]exact_product.
      apply: sub_surely (IHn _ _ _ _ next_in) _ => h' [tail [-> ok]].
      by rewrite after; exists [:: first, Online (Accepted In Out (right W_D (masked q r))) & tail];
        split; rewrite ?goes //= !eqxx.
    move=> rho'; apply: sub_surely (IHb _ _ _ broken_in) _ => h' [tail [-> /andP[ok _]]].
    rewrite after; exists [:: first, Online (Rejected In Out y) & tail]; split=> //.
    apply: goes; rewrite /= eqxx ok /=; apply/implyP => /truth/(_ _ _ _ answered) y_right.
    by rewrite y_right judge_right in j.
  case s: (offline e h _) => [c|]; last first.
    apply: exchanged erefl _ => tail /=.
    by rewrite eqxx /=.
  have answered : answers e h c by right.
  case j: (judge rho _ c).
    rewrite (judged _ _ _ _ answered j); apply: exchanged erefl _ => tail /=.
    by rewrite !eqxx.
  move=> rho'; apply: sub_surely (IHb _ _ _ broken_in) _ => h' [tail [-> /andP[ok _]]].
  exists (Spoilt In Out c :: tail); rewrite cat_rcons; split=> //.
  rewrite /= eqxx ok /=; apply/implyP => /truth/(_ _ _ _ answered) c_right.
  by rewrite c_right judge_right in j.
- move=> in_all; apply: sub_surely (IH _ _ _ _ (in_all _)) _ => h' [tail [-> ok]].
  by exists (Online (Answered M N prime_L out (asker e h out)) :: tail);
    rewrite cat_rcons /= eqxx.
move=> next_in; apply: sub_surely (IH _ _ _ next_in) _ => h' [tail [-> ok]].
by exists (Online (Renewed M N In Out prime_L) :: tail); rewrite cat_rcons.
Qed.
End Outputs.

(* --------------------------------------------------------------------------------- whole runs *)
Section Runs.
Variables (G : finType) (M N : G -> nat) (In : Type) (Out : eqType) (prime_L kappa t : nat).
Variables (W_D : forall g, 'M[int]_(M g, N g)) (qa : G -> nat).
Notation F := [finFieldType of 'F_prime_L].
Notation program := (@program G M N In Out).
Notation pool := (@pool G M N In Out prime_L).
Notation message := (@message F G N).
Notation reply x := (@reply F G M N x).
Notation joint_event := (@joint_event G M N In Out prime_L).
Hypothesis L_prime : prime prime_L.
Hypothesis L_ge : forall g, (2 * static_bound (qa g) (W_D g) + 1 <= prime_L)%N.

(* Both right whenever they answer: nothing is rejected, and all is exact. *)
Theorem offline_correct (e : pool) C (p : program) Q :
  admissible t W_D C qa p -> both_truthful W_D e ->
  surely (fun h => all_exact t W_D C p h && ~~ any_reject h) (offline_run kappa t W_D e C Q p).
Proof.
move=> adm truth rho.
apply: sub_surely (duo_exact L_prime L_ge (e := e) (calm := true) Q rho [::] _ _
                     (fun=> truth) adm) _.
- exact: checked_right.
- by move=> rho' h x y /truth.
by move=> h [tail [-> ok]].
Qed.

Variables (Omega : finType) (mu : Omega -> rat).
Variables (C : Omega -> @factors G M N) (p : Omega -> program) (Q : nat).
Hypothesis mu_dist : distribution mu.
Hypothesis adm : forall w, admissible t W_D (C w) qa (p w).

(* Acting together they get something wrong accepted, or make an output wrong, with at most this
   probability. *)
Theorem offline_integrity (e : Omega -> pool) :
  chance_over mu (fun w => offline_run kappa t W_D (e w) (C w) Q (p w))
      (fun z => ~~ all_exact t W_D (C z.1) (p z.1) z.2)
    <= Q%:R * (prime_L%:R ^+ kappa)^-1.
Proof.
case: mu_dist => mu_ge0 mu_total; rewrite /chance_over; set bound := (X in _ <= X).
rewrite -[bound]mul1r -mu_total mulr_suml; apply: ler_sum => w _.
rewrite {}/bound; apply: ler_wpmul2l => //=.
have := duo_perfect kappa L_prime (e w) L_ge
  (fun h => ~~ all_exact t W_D (C w) (p w) h) Q [::] (adm w).
rewrite [X in _ - X](_ : _ = 0); first by rewrite subr0 => /(le_trans (ler_norm _)).
apply: average_same (card_secrets_gt0 F kappa M) _ => rho.
apply: surely_never (duo_exact L_prime L_ge (e := e w) (calm := false) Q rho [::] _ _ _ (adm w)) _.
- by move=> rho' x; rewrite /perfect eqxx.
- by move=> rho' h x y _ /eqP.
- by [].
by move=> h [tail [-> /andP[ok _]]]; rewrite ok.
Qed.

(* What David and the user see, with a second David who is right whenever he answers. *)
Theorem offline_simulation (e : Omega -> @environment G M N In Out prime_L)
    (second : Omega -> seq joint_event -> forall r : message, option (reply r)) :
  (forall w h r c, second w h r = Some c -> c = right W_D r) ->
  forall J : Omega * @transcript G M N In Out prime_L -> bool,
  `|chance_over mu (fun w => offline_run kappa t W_D (beside (e w) (second w)) (C w) Q (p w))
        (fun z => J (z.1, seen z.2))
    - chance_over mu (fun w => ideal_run t W_D (blind prime_L W_D) (e w) (C w) Q (p w)) J|
    <= Q%:R * (prime_L%:R ^+ kappa)^-1.
Proof.
move=> second_right J; apply: average_close mu_dist _ => w; rewrite chance_draw.
exact: (duo_ideal kappa L_prime (e w) L_ge (@second_right w) (fun h => J (w, h)) Q [::] (adm w)).
Qed.
End Runs.

(* What the offline David sees, whatever he answers, with a David who is right: up to the first
   reject it is independent of all that is fixed, but for the schedule. *)
Theorem offline_view (G : finType) (M N : G -> nat) (In Out : Type) (prime_L kappa t : nat)
    (W_D : forall g, 'M[int]_(M g, N g)) (Omega : finType) (mu : Omega -> rat)
    (e : Omega -> @pool G M N In Out prime_L) (C : Omega -> @factors G M N)
    (p : Omega -> @program G M N In Out) second (shapes : seq (G * nat)) :
  (forall w h x, online (e w) h x = Some (right W_D x)) ->
  (forall w h r, offline (e w) h r = second (offline_seen h) r) ->
  (forall w, keeps_schedule shapes (p w)) ->
  forall (D : pred Omega) (E : seq (@joint_event G M N In Out prime_L) -> bool),
  chance_over mu (fun w => offline_run kappa t W_D (e w) (C w) 1 (p w))
      (fun z => D z.1 && E (offline_seen z.2))
    = Pr mu D * chance E (Draw (fun rho => alone (kappa := kappa) W_D second rho shapes [::])).
Proof.
move=> honest by_view keeps D E; rewrite /chance_over /Pr mulr_suml [RHS]big_mkcond /=.
apply: eq_bigr => w _; case: (D w) => /=; last by rewrite chance_never mulr0.
congr (_ * _); rewrite !chance_draw; apply: eq_bigr => rho _; congr (_ * _).
exact: (duo_alone t E (C w) rho [::] (honest w) (by_view w) (keeps w)).
Qed.
